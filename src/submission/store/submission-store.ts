import { defaults, type Options } from './options.js'
import { decodeRecoveredEntry } from './recovered-entry.js'
import { GatheredWrites } from './gathered-writes.js'
import { formatId } from './submission-id.js'
import { isAwaited } from './state.js'
import type { Ending, Landing, StoredSubmission, Submission } from './submission.js'
import {
  openTables,
  pack,
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
  /**
   * Records how it ended. Resolves when other processes can read that; false where it cannot be
   * stored.
   */
  end(ending: Ending): Promise<boolean>
}

/** A record that is not in its table yet. */
type BufferedRecord = {
  submission: Submission
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
}

/** A submission whose transactions are looked for in the index. */
export type SentSubmission = StoredSubmission & {
  /** It was sent by an earlier process. */
  readonly isRecovered: boolean
}

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
  await store.load()
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
  /** Of writes that nobody waits for. */
  private readonly gathered: GatheredWrites
  private inFlight = 0
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
  }

  /**
   * Records that a submission is about to be sent. The record outlives this process from the moment
   * of return. Undefined where too many are in flight.
   */
  begin(id: Uint8Array, submission: Submission): PendingRecord | undefined {
    if (this.isClosed) return undefined
    const slot = this.wal.append(Buffer.concat([id, pack(submission)]))
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
   * `gatherMs`, and lost if the process is killed before.
   */
  record(id: Uint8Array, submission: Submission): void {
    if (this.isClosed || this.buffered.size >= this.options.bufferedMax) return
    const name = tableNameOf(submission)
    const max = this.options[`${name}Max`]
    if (INVALID.has(name) && (this.invalidCounts.get(name) ?? 0) > 2 * max) return
    void this.write(id, this.buffer(id, this.watched(id, submission)), this.gathered.wait())
  }

  /** Adds what the index knows of the transactions of a submission. */
  async addLanding(id: Uint8Array, landing: Landing): Promise<void> {
    if (this.isClosed) return
    const buffered = this.buffered.get(formatId(id))
    const submission = buffered?.submission ?? this.tables.get(id)
    // It may have been removed meanwhile.
    if (submission === undefined) return
    const record = buffered ?? this.buffer(id, submission)
    record.submission = { ...submission, landing }
    await this.write(id, record, this.gathered.wait())
  }

  /** What is known of a submission, whether it has reached the disk or not. */
  get(id: Uint8Array): Submission | undefined {
    const record = this.buffered.get(formatId(id))
    if (record !== undefined) return record.submission
    return this.isClosed ? undefined : this.tables.get(id)
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
    await new Promise(setImmediate)
    this.isClosed = true
    clearInterval(this.pruneTimer)
    await this.tables.close()
  }

  /** Learns what is stored. */
  load(): Promise<void> {
    return this.tables.load()
  }

  /** Continues with the submissions that an earlier process has sent, which has ended. */
  resume(): void {
    const { now } = this.modules
    const { awaitedMax, awaitedMs } = this.options
    for (const { id, submission } of this.tables.newest(now() - awaitedMs, awaitedMax)) {
      // Nobody waits for its reply any more. What is in the write-ahead log is stored already.
      const isLost = submission.outcome === 'pending'
      const known: Submission = isLost ? { ...submission, outcome: 'unknown' } : submission
      const watched = this.watched(id, known, true)
      if (watched !== submission) void this.write(id, this.buffer(id, watched))
    }
  }

  /** Stores what an earlier process left in a write-ahead log. */
  async recover(wal = this.wal): Promise<void> {
    const { onFault } = this.modules
    for (const entry of wal.recover()) {
      try {
        const [id, found] = decodeRecoveredEntry(entry, onFault)
        const stored = this.tables.get(id)
        const isPending = found.outcome === 'pending'
        const submission: Submission = isPending ? { ...found, outcome: 'unknown' } : found
        if (stored === undefined || stored.outcome === 'pending')
          await this.write(id, this.buffer(id, submission))
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
    const transactions = landing?.transactions ?? signatures.map(() => null)
    return { ...submission, landing: { state: 'unseen', transactions } }
  }

  private buffer(id: Uint8Array, submission: Submission): BufferedRecord {
    const record = { submission, writeCount: 0 }
    this.buffered.set(formatId(id), record)
    return record
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
      return !this.isClosed && (await this.tables.put(id, record.submission))
    } catch (error) {
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
    const isStored = await this.write(id, record)
    // The next start finds it in the write-ahead log.
    if (!isStored && this.isClosed) return false
    this.wal.clear(slot)
    this.inFlight--
    return isStored
  }
}
