import type { StateChange } from './changes.js'
import { defaults, type Options } from './options.js'
import { decodeRecoveredEntry, entryOfEnded } from './recovered-entry.js'
import { GatheredWrites } from './gathered-writes.js'
import { formatId, parseId } from './submission-id.js'
import { isAwaited, isRacing, toAbandoned } from './state.js'
import type { Ending, StoredSubmission, Submission } from './submission.js'
import { pack, toEntry } from './rows.js'
import {
  openTables,
  TABLE_NAMES,
  tableNameOf,
  type SubmissionTables,
  type TableName,
} from './submission-tables.js'
import { WAL_SLOT_BYTES, WriteAheadLog } from './write-ahead-log.js'

/** Tables of what a check refused, which many requests could fill. */
const INVALID: ReadonlySet<TableName> = new Set(['invalid', 'landerInvalid'])

/** Every 40th pruning includes tables without new writes, whose records expire by age only. */
const ALL_PRUNED_EACH = 40

/** A submission that is being sent. */
export type PendingRecord = {
  /** It is about to be written, which it had to wait for. */
  onStart(atMs: number): void
  /**
   * Records how it ended. Resolves when other processes can read that; false where it cannot be
   * stored.
   */
  end(ending: Ending): Promise<boolean>
}

/** A record that is not in its table yet. */
type BufferedRecord = {
  submission: Submission
  /** As it was written last; undefined of one that never was. */
  written: Submission | undefined
  /** Writes that are in progress or to come. */
  writeCount: number
}

/** Use of a store, for metrics. */
export type StoreStats = {
  readonly inFlight: number
  readonly records: number
  readonly usedBytes: number
  readonly mapBytes: number
}

export type StoreModules = {
  /** `walBytes` bytes, mapped from a file. */
  readonly wal: Uint8Array
  /** Unix milliseconds. */
  readonly now: () => number
  readonly onFault: (fault: unknown) => void
  /** A submission was sent whose transactions may land. False where it is not looked for. */
  readonly onSent?: ((sent: SentSubmission) => boolean) | undefined
  /** What a submission has come to can be read by other processes. */
  readonly onTold?: ((submission: Submission, changes: readonly StateChange[]) => void) | undefined
}

/** A submission whose transactions are looked for in the index. */
export type SentSubmission = StoredSubmission & {
  /** It was sent by an earlier process. */
  readonly isRecovered: boolean
}

/** Rows that are read in one turn of the event loop: some 2 ms. */
const TURN_ROWS = 100

type Newest = AsyncGenerator<StoredSubmission>

/** Bytes of a store's write-ahead log. */
export const walBytes = ({ inFlightMax }: Options): number => inFlightMax * WAL_SLOT_BYTES

/**
 * Opens the submission store in its folder. Submissions that an earlier process left in flight in
 * this write-ahead log become `unknown`.
 */
export const openSubmissionStore = async (
  dir: string,
  modules: StoreModules,
  options: Options = defaults,
): Promise<SubmissionStore> => {
  const store = new SubmissionStore(openTables(dir, options), modules, options)
  await store.recover()
  store.startPruning()
  return store
}

/** The submissions of a machine. No call waits for the disk. */
export class SubmissionStore {
  private readonly tables: SubmissionTables
  private readonly modules: StoreModules
  private readonly options: Options
  private readonly wal: WriteAheadLog
  /** By id, as text. */
  private readonly buffered = new Map<string, BufferedRecord>()
  /** Of writes that nobody waits for, and of those that subscribers do. */
  private readonly gathered: GatheredWrites
  private readonly landed: GatheredWrites
  private inFlight = 0
  /** Ended ones in the write-ahead log. */
  private endedCount = 0
  /** Ids of pending records that `record` has written, as text: their end is to come. */
  private readonly pending = new Set<string>()
  /** Ids of records with lanes that have not ended, as text: these are to come. */
  private readonly racing = new Set<string>()
  /** Of the tables of what a check refused. */
  private readonly invalidCounts = new Map<TableName, number>()
  private pruneTimer: NodeJS.Timeout | undefined
  /** From then on nothing may be written: lmdb would end the process. */
  private isClosed = false

  constructor(tables: SubmissionTables, modules: StoreModules, options: Options) {
    this.tables = tables
    this.modules = modules
    this.options = options
    this.wal = new WriteAheadLog(modules.wal)
    this.gathered = new GatheredWrites(options)
    const { gatherCountMax, landedGatherMs: gatherMs } = options
    this.landed = new GatheredWrites({ gatherMs, gatherCountMax })
  }

  /**
   * Records that a submission is about to be sent. The record outlives this process from the moment
   * of return. Undefined where too many are in flight.
   */
  begin(id: Uint8Array, submission: Submission): PendingRecord | undefined {
    if (this.isClosed) return undefined
    const { tips: _tips, ...shorter } = submission
    const slot = this.wal.append(toEntry(id, submission)) ?? this.wal.append(toEntry(id, shorter))
    if (slot === undefined) return undefined
    this.inFlight++
    const record = this.buffer(id, submission)
    record.writeCount++
    // Most end before anyone needs to read them: those are written once.
    const timer = setTimeout(() => {
      if (!this.isClosed) void this.write(id, record)
    }, this.options.pendingMs)
    timer.unref()
    return {
      onStart: atMs => {
        record.submission = { ...record.submission, forwardedAtMs: atMs }
      },
      end: ending => {
        clearTimeout(timer)
        // Only the engine's words can be too long, and they matter least.
        if (!this.wal.appendEnding(slot, pack(ending)))
          this.wal.appendEnding(slot, pack({ ...ending, engine: null }))
        record.submission = this.watched(id, { ...submission, ...ending })
        record.writeCount--
        return this.writeAndClear(id, record, slot)
      },
    }
  }

  /**
   * Records a submission that has ended, or was not sent itself. It is stored with others after
   * `gatherMs`. One that may land outlives this process from the moment of return, unless most of
   * the write-ahead log is in use, whose rest is for what is about to be sent. `isKnown`: an
   * earlier process has recorded it, too.
   */
  record(id: Uint8Array, submission: Submission, isKnown = false): void {
    if (this.isClosed || this.buffered.size >= this.options.bufferedMax) return
    const table = tableNameOf(submission)
    const max = this.options[`${table}Max`]
    if (INVALID.has(table) && (this.invalidCounts.get(table) ?? 0) > 2 * max) return
    const name = formatId(id)
    const watched = this.watched(id, submission)
    const before = isKnown || this.pending.has(name) ? this.tables.get(id) : undefined
    const record = this.buffer(id, watched, before)
    const slot = isAwaited(watched) ? this.appendEnded(id, watched) : undefined
    if (submission.outcome === 'pending') this.pending.add(name)
    else this.pending.delete(name)
    if (isRacing(submission)) this.racing.add(name)
    const written = this.write(id, record, this.gathered.wait())
    if (slot === undefined) return
    this.endedCount++
    void written.then(isStored => {
      this.endedCount--
      this.clear(slot, isStored)
    })
  }

  /** Adds what is known later: by the index of its transactions, or by the lanes of a race. */
  async amend(id: Uint8Array, known: Pick<Submission, 'landing' | 'lanes'>): Promise<void> {
    if (this.isClosed) return
    const name = formatId(id)
    if (known.lanes !== undefined) this.racing.delete(name)
    const buffered = this.buffered.get(name)
    const submission = buffered?.submission ?? this.tables.get(id)
    // It may have been removed meanwhile.
    if (submission === undefined) return
    const record = buffered ?? this.buffer(id, submission, submission)
    record.submission = { ...submission, ...known }
    await this.write(id, record, this.landed.wait())
  }

  /** What is known of a submission, whether it has reached the disk or not. */
  get(id: Uint8Array): Submission | undefined {
    const record = this.buffered.get(formatId(id))
    const found = record?.submission ?? (this.isClosed ? undefined : this.tables.get(id))
    if (found?.untold === undefined) return found
    const { untold: _untold, ...submission } = found
    return submission
  }

  /** Submissions since an instant, newest first, at most `countMax` of each table, in turns. */
  async *newest(sinceMs: number, countMax: number, names = TABLE_NAMES): Newest {
    let count = 0
    for (const id of this.tables.newestIds(sinceMs, countMax, names)) {
      if (++count % TURN_ROWS === 0) await new Promise(setImmediate)
      if (this.isClosed) return
      const submission = this.tables.get(id)
      if (submission !== undefined) yield { id, submission }
    }
  }

  /** How submissions ended that are not counted yet; they are removed once they are. */
  get ends(): Pick<SubmissionTables, 'waitingEnds' | 'removeEnds'> | undefined {
    return this.isClosed ? undefined : this.tables
  }

  stats(): StoreStats {
    const { inFlight, tables } = this
    if (this.isClosed)
      return { inFlight, records: 0, usedBytes: 0, mapBytes: this.options.mapBytes }
    const records = TABLE_NAMES.reduce((sum, name) => sum + tables.count(name), 0)
    return { inFlight, records, ...tables.usage() }
  }

  async close(): Promise<void> {
    if (this.isClosed) return
    // What ended in this turn of the event loop is still written.
    this.gathered.startAll()
    this.landed.startAll()
    await new Promise(setImmediate)
    this.isClosed = true
    clearInterval(this.pruneTimer)
    await this.tables.close()
  }

  /** Learns what each access has stored, beside its use: a million records take seconds. */
  load(): Promise<void> {
    return this.tables.load()
  }

  /**
   * Continues with the submissions that an earlier process has sent, which has ended, and
   * publishes what it has not.
   */
  async resume(): Promise<void> {
    const { now } = this.modules
    const { awaitedMax, awaitedMs } = this.options
    if (!this.tables.isPublishing) await this.tables.startPublishing(this.options, now())
    for (const [name, record] of this.buffered) {
      const id = parseId(name)
      if (id !== undefined && record.written?.untold !== undefined) void this.write(id, record)
    }
    for await (const { id, submission } of this.newest(now() - awaitedMs, awaitedMax)) {
      // Another process does it now.
      if (!this.tables.isPublishing) return
      const name = formatId(id)
      // What this process has in hand is its own.
      if (this.buffered.has(name) || this.pending.has(name)) continue
      // Nobody waits for its reply any more. What is in the write-ahead log is stored already.
      const known = this.racing.has(name) ? submission : toAbandoned(submission)
      const watched = this.watched(id, known, true)
      if (watched !== submission || submission.untold !== undefined)
        void this.write(id, this.buffer(id, watched, submission))
    }
  }

  /** Leaves it to another process to publish what submissions come to, until `resume`. */
  async stopPublishing(): Promise<void> {
    this.gathered.startAll()
    this.landed.startAll()
    await this.tables.stopPublishing()
  }

  /** Stores what an earlier process left in a write-ahead log. */
  async recover(wal = this.wal): Promise<void> {
    const { onFault } = this.modules
    for (const entry of wal.recover()) {
      try {
        const [id, found] = decodeRecoveredEntry(entry, onFault)
        const stored = this.tables.get(id)
        const submission = toAbandoned(found)
        if (stored === undefined || stored.outcome === 'pending')
          await this.write(id, this.buffer(id, submission, stored))
      } catch (error) {
        // Of another layout, or torn by a crash of the machine.
        onFault(error)
      }
      wal.clear(entry.slot)
    }
  }

  /** Mostly prunes only tables that were written to: each takes 0.4 ms of the event loop. */
  startPruning(): void {
    let count = 0
    const prune = (): void => {
      this.prune(count++ % ALL_PRUNED_EACH === 0 ? TABLE_NAMES : [...this.tables.unpruned])
    }
    prune()
    this.pruneTimer = setInterval(prune, this.options.pruneMs)
    this.pruneTimer.unref()
  }

  private prune(names: readonly TableName[]): void {
    const { options } = this
    const { now, onFault } = this.modules
    try {
      for (const name of names) {
        const count = this.tables.prune(name, now() - options.ageMsMax, options, onFault)
        if (INVALID.has(name)) this.invalidCounts.set(name, count)
      }
    } catch (error) {
      onFault(error)
    }
  }

  /** What is to be stored: a submission that is not looked for in the index is `unseen`. */
  private watched(id: Uint8Array, submission: Submission, isRecovered = false): Submission {
    const { onSent } = this.modules
    if (onSent === undefined || !isAwaited(submission)) return submission
    if (onSent({ id, submission, isRecovered })) return submission
    const { landing, signatures } = submission
    const unseen = { end: 'unseen', seenAtMs: this.modules.now() } as const
    const transactions = signatures.map((_, at) => landing?.transactions[at] ?? unseen)
    return { ...submission, landing: { transactions } }
  }

  /** `stored`: as its table has it. */
  private buffer(id: Uint8Array, submission: Submission, stored?: Submission): BufferedRecord {
    const name = formatId(id)
    const known = this.buffered.get(name)
    const record = known ?? { submission, written: stored, writeCount: 0 }
    record.submission = submission
    this.buffered.set(name, record)
    return record
  }

  private appendEnded(id: Uint8Array, submission: Submission): number | undefined {
    if (this.inFlight + this.endedCount > this.options.inFlightMax / 2) return undefined
    const { entry, endings } = entryOfEnded(id, submission)
    const slot = this.wal.append(entry)
    if (slot === undefined) return undefined
    if (endings.some(ending => this.wal.appendEnding(slot, pack(ending)))) return slot
    this.wal.clear(slot)
    return undefined
  }

  /** A reply that is ready is sent first: a write takes 0.1 ms of the event loop. */
  private async write(
    id: Uint8Array,
    record: BufferedRecord,
    turn: Promise<unknown> = new Promise(setImmediate),
  ): Promise<boolean> {
    record.writeCount++
    try {
      await turn
      if (this.isClosed) return false
      const { submission, written: before } = record
      const put = this.tables.put(id, submission, { before, nowMs: this.modules.now() })
      if (put === undefined) return false
      record.written = put.stored
      await put.written
      if (put.told.length > 0) this.modules.onTold?.(submission, put.told)
      return true
    } catch (error) {
      record.written = this.isClosed ? undefined : this.tables.get(id)
      this.modules.onFault(error)
      return false
    } finally {
      record.writeCount--
      if (record.writeCount === 0) this.buffered.delete(formatId(id))
    }
  }

  private async writeAndClear(
    id: Uint8Array,
    record: BufferedRecord,
    slot: number,
  ): Promise<boolean> {
    const isStored = await this.write(id, record, this.landed.wait())
    if (this.clear(slot, isStored)) this.inFlight--
    return isStored
  }

  private clear(slot: number, isStored: boolean): boolean {
    // The next start finds it in the write-ahead log.
    if (!isStored && this.isClosed) return false
    this.wal.clear(slot)
    return true
  }
}
