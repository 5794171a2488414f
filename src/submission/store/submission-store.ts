import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { open, type Database, type RootDatabase } from 'lmdb'
import { Packr } from 'msgpackr'
import * as v from 'valibot'
import { recall } from './recovered-entry.js'
import { createJournal, JOURNAL_PLACE_BYTES } from './write-ahead-log.js'
import { defaults, type Options } from './options.js'
import { formatId, timeOfId } from './submission-id.js'
import { submissionSchema, type Ending, type Submission } from './submission.js'

/**
 * Layout of the tables, and the name of their folder: an older build finds nothing rather than
 * nonsense.
 */
const LAYOUT = 'submissions-1'
/** Beside the store once it is whole: lmdb 3.5 ends the process that opens what is not. */
const READY = 'ready'

/**
 * lmdb's thread looks at the store once more after it has told of a commit, and ends the process
 * where it is closed.
 */
const CLOSE_GRACE_MS = 50

/** Every table: submission id → submission, a msgpack map. */
const TABLES = ['forwarded', 'invalid'] as const
type TableName = (typeof TABLES)[number]

// Plain maps, so that any msgpack tool can read a value.
const packr = new Packr({ useRecords: false })
const unpack = (value: Uint8Array): Submission => v.parse(submissionSchema, packr.unpack(value))

const Owned = v.object({ accessId: v.string() })

/**
 * Records of one access among the last of a table. Others are not looked at closer than to see
 * whose they are.
 */
const recentOf = (
  table: Database<Buffer, Uint8Array>,
  accessId: string,
  { countMax, visitMax }: { readonly countMax: number; readonly visitMax: number },
): readonly Known[] => {
  const found: Known[] = []
  for (const { key, value } of table.getRange({ reverse: true, limit: visitMax })) {
    const unpacked: unknown = packr.unpack(value)
    if (v.parse(Owned, unpacked).accessId !== accessId) continue
    found.push({ id: Uint8Array.from(key), submission: v.parse(submissionSchema, unpacked) })
    if (found.length === countMax) break
  }
  return found
}

/**
 * lmdb puts the reason of a failed commit into the error, as a promise whose rejection somebody
 * must hear.
 */
const Failed = v.object({ commitError: v.instance(Promise) })
const heard = (error: unknown): unknown => {
  if (v.is(Failed, error)) error.commitError.catch(() => {})
  return error
}

const tableOf = ({ outcome }: Submission): TableName =>
  outcome === 'invalid' ? 'invalid' : 'forwarded'

type Tables = Readonly<Record<TableName, Database<Buffer, Uint8Array>>>

const openRoot = (path: string, options: Options, readOnly: boolean): RootDatabase<Buffer> =>
  open<Buffer>({
    path,
    readOnly,
    noSubdir: false,
    encoding: 'binary',
    mapSize: options.mapBytes,
    maxReaders: options.readersMax,
    maxDbs: 8,
    // Off, because lmdb 3.5 otherwise waits for the disk on a thread that a close does not wait
    // for.
    overlappingSync: false,
    // Off, because lmdb 3.5 otherwise rejects a promise that nobody has where a commit fails: a
    // full disk would end the process.
    eventTurnBatching: false,
  })

const openTables = (root: RootDatabase<Buffer>): Tables | undefined => {
  const openTable = (name: TableName) =>
    root.openDB<Buffer, Uint8Array>(name, { encoding: 'binary', keyEncoding: 'binary' })
  const [forwarded, invalid] = TABLES.map(openTable)
  // A read-only open answers undefined for a missing table, which lmdb's own types do not say.
  return forwarded === undefined || invalid === undefined ? undefined : { forwarded, invalid }
}

const read = (tables: Tables, id: Uint8Array): Submission | undefined => {
  for (const name of TABLES) {
    const value = tables[name].getBinary(id)
    if (value !== undefined) return unpack(value)
  }
  return undefined
}

/** A submission that is being forwarded. */
export type Flight = {
  readonly id: Uint8Array
  /**
   * Keeps how it ended. Resolves when other edges can see that; false where it cannot be stored.
   */
  end(ending: Ending): Promise<boolean>
}

/**
 * A record that is not on its page yet. It is put together where somebody asks for it: its client
 * waits meanwhile.
 */
type Kept = {
  readonly begun: Submission
  ending: Ending | undefined
  /** Writes of it that are under way, or to come. */
  writes: number
}
const toWhole = ({ begun, ending }: Kept): Submission => ({ ...begun, ...ending })

/** Use of the ledger, for metrics. */
export type LedgerStats = {
  readonly inFlight: number
  readonly records: number
  readonly usedBytes: number
  readonly mapBytes: number
}

/** The ledger of one edge, which alone writes it. No call waits for the disk. */
export type Ledger = {
  /**
   * Records that a submission is about to be sent. The record outlives this process from the moment
   * of return. Undefined where too many are in flight.
   */
  begin(id: Uint8Array, submission: Submission): Flight | undefined
  /** Keeps a submission that is not forwarded for itself. */
  record(id: Uint8Array, submission: Submission): void
  /** What is known of a submission, whether it has reached the disk or not. */
  get(id: Uint8Array): Submission | undefined
  stats(): LedgerStats
  close(): Promise<void>
}

/** What a ledger works with. */
export type LedgerModules = {
  /** `inFlightMax` places of `JOURNAL_PLACE_BYTES`, mapped from a file beside the ledger. */
  readonly journal: Uint8Array
  /** Unix milliseconds. */
  readonly now: () => number
  readonly onFault: (fault: unknown) => void
}

/** Bytes of a ledger's journal. */
export const journalBytes = (options: Options): number => options.inFlightMax * JOURNAL_PLACE_BYTES

/**
 * Opens the ledger of an edge in its folder, and makes it where there is none. What an earlier life
 * left in flight is kept as `unknown`: nobody can tell how far it went.
 */
export const openLedger = async (
  edgeDir: string,
  modules: LedgerModules,
  options: Options = defaults,
): Promise<Ledger> => {
  const { now, onFault } = modules
  const path = join(edgeDir, LAYOUT)
  mkdirSync(path, { recursive: true, mode: 0o700 })
  const root = openRoot(path, options, false)
  const tables = openTables(root)
  if (tables === undefined) throw new Error(`ledger: no tables at ${path}`)
  writeFileSync(join(path, READY), '')
  const journal = createJournal(modules.journal)
  root.readerCheck()

  const waiting = new Map<string, Kept>()
  let inFlight = 0
  let invalidCount = 0
  // lmdb ends the process where something is written to what is closed.
  let isClosed = false

  /** `key` is the id's text. */
  const put = async (key: string, id: Uint8Array, kept: Kept): Promise<boolean> => {
    kept.writes++
    try {
      // Writing takes a tenth of a millisecond of the event loop: an answer that is ready goes
      // first.
      await new Promise(setImmediate)
      const whole = toWhole(kept)
      return !isClosed && (await tables[tableOf(whole)].put(id, packr.pack(whole)))
    } catch (error) {
      onFault(heard(error))
      return false
    } finally {
      kept.writes--
      if (kept.writes === 0) waiting.delete(key)
    }
  }
  const record = (id: Uint8Array, begun: Submission): Promise<boolean> => {
    const key = formatId(id)
    const kept = { begun, ending: undefined, writes: 0 }
    waiting.set(key, kept)
    return put(key, id, kept)
  }

  const codec = {
    unpack: (bytes: Uint8Array): unknown => packr.unpack(bytes),
    parse: (value: unknown) => v.parse(submissionSchema, value),
  }
  for (const left of journal.left()) {
    try {
      const [id, found] = recall(left, codec, onFault)
      const stored = read(tables, id)
      const last: Submission =
        found.outcome === 'pending' ? { ...found, outcome: 'unknown' } : found
      if (stored === undefined || stored.outcome === 'pending') await record(id, last)
    } catch (error) {
      // Of another layout, or torn by a fall of the machine.
      onFault(error)
    }
    journal.clear(left.place)
  }

  const prune = (): void => {
    try {
      const oldestMs = now() - options.ageMsMax
      for (const name of TABLES) {
        const table = tables[name]
        const count = countOf(table)
        if (name === 'invalid') invalidCount = count
        let excess = count - options[`${name}Max`]
        for (const id of table.getKeys({ limit: options.pruneCountMax })) {
          if (excess-- <= 0 && timeOfId(id) >= oldestMs) break
          table.remove(id).catch(error => onFault(heard(error)))
        }
      }
    } catch (error) {
      onFault(error)
    }
  }
  prune()
  const timer = setInterval(prune, options.pruneMs)
  timer.unref()

  return {
    begin(id, submission) {
      const key = formatId(id)
      const entry = Buffer.concat([id, packr.pack(submission)])
      const place = isClosed ? undefined : journal.begin(entry)
      if (place === undefined) return undefined
      inFlight++
      const kept: Kept = { begun: submission, ending: undefined, writes: 1 }
      waiting.set(key, kept)
      // Most end before other edges need to see them: one write is enough for those.
      const timer = setTimeout(() => {
        if (!isClosed) void put(key, id, kept)
      }, options.pendingMs)
      timer.unref()
      return {
        id,
        end: async ending => {
          clearTimeout(timer)
          // Its words are what can be long, and the least that is missed.
          if (!journal.end(place, packr.pack(ending)))
            journal.end(place, packr.pack({ ...ending, engine: null }))
          kept.ending = ending
          const stored = put(key, id, kept)
          kept.writes--
          const isStored = await stored
          // The next start of this edge finds it in the journal.
          if (!isStored && isClosed) return false
          journal.clear(place)
          inFlight--
          return isStored
        },
      }
    },
    record(id, submission) {
      const isInvalid = submission.outcome === 'invalid'
      if (isClosed || waiting.size >= options.waitingMax) return
      if (isInvalid && invalidCount > 2 * options.invalidMax) return
      void record(id, submission)
    },
    get(id) {
      const kept = waiting.get(formatId(id))
      if (kept !== undefined) return toWhole(kept)
      if (isClosed) return undefined
      root.resetReadTxn()
      return read(tables, id)
    },
    stats: () =>
      isClosed
        ? { inFlight, records: 0, usedBytes: 0, mapBytes: options.mapBytes }
        : {
            inFlight,
            records: countOf(tables.forwarded) + countOf(tables.invalid),
            ...v.parse(Use, root.getStats()),
          },
    close: async () => {
      if (isClosed) return
      // What ended in this very turn is still to be stored.
      await new Promise(setImmediate)
      isClosed = true
      clearInterval(timer)
      await root.flushed
      await sleep(CLOSE_GRACE_MS)
      await root.close()
    },
  }
}

const Use = v.pipe(
  v.object({ lastPageNumber: v.number(), pageSize: v.number(), mapSize: v.number() }),
  v.transform(stats => ({
    usedBytes: (stats.lastPageNumber + 1) * stats.pageSize,
    mapBytes: stats.mapSize,
  })),
)
const Entries = v.object({ entryCount: v.number() })
const countOf = (table: Database<Buffer, Uint8Array>): number =>
  v.parse(Entries, table.getStats()).entryCount

/** The ledgers of all edges of a data directory, to read. */
export type Ledgers = {
  /** What another edge has stored of a submission. */
  get(edge: number, id: Uint8Array): Submission | undefined
  /** The same, whichever edge has it. */
  find(id: Uint8Array): Submission | undefined
  /**
   * The newest submissions of an access, newest first, among the last `recentMax` records of each
   * edge.
   */
  recent(accessId: string, countMax: number): readonly Known[]
  close(): Promise<void>
}

/** A submission with its id. */
export type Known = { readonly id: Uint8Array; readonly submission: Submission }

/** Folder of one edge in a data directory. */
export const edgePath = (dataDir: string, edge: number): string =>
  join(dataDir, 'edges', String(edge))

/**
 * Opens what other edges wrote, each when it is first asked for. `own` is the edge that reads, if
 * any.
 */
export const openLedgers = (
  dataDir: string,
  own: number | undefined,
  options: Options = defaults,
): Ledgers => {
  const opened = new Map<number, { root: RootDatabase<Buffer>; tables: Tables }>()
  let isClosed = false

  const openEdge = (edge: number) => {
    const known = opened.get(edge)
    if (known !== undefined) return known
    const path = join(edgePath(dataDir, edge), LAYOUT)
    if (isClosed || !existsSync(join(path, READY))) return undefined
    const root = openRoot(path, options, true)
    const tables = openTables(root)
    if (tables === undefined) throw new Error(`ledger: no tables at ${path}`)
    const ledger = { root, tables }
    opened.set(edge, ledger)
    return ledger
  }

  const get = (edge: number, id: Uint8Array): Submission | undefined => {
    const ledger = openEdge(edge)
    // Otherwise lmdb keeps one snapshot until a timer fires.
    ledger?.root.resetReadTxn()
    return ledger && read(ledger.tables, id)
  }

  const edges = (): readonly number[] =>
    existsSync(join(dataDir, 'edges'))
      ? readdirSync(join(dataDir, 'edges'))
          .filter(name => /^\d+$/.test(name))
          .map(Number)
      : []

  return {
    get,
    find(id) {
      for (const edge of edges()) {
        const found = edge === own ? undefined : get(edge, id)
        if (found !== undefined) return found
      }
      return undefined
    },
    recent: (accessId, countMax) =>
      edges()
        .flatMap(edge => {
          const ledger = openEdge(edge)
          ledger?.root.resetReadTxn()
          return ledger === undefined ? [] : TABLES.map(name => ledger.tables[name])
        })
        .flatMap(table => recentOf(table, accessId, { countMax, visitMax: options.recentMax }))
        .sort((a, b) => Buffer.compare(b.id, a.id))
        .slice(0, countMax),
    close: async () => {
      isClosed = true
      const roots = Array.from(opened.values(), ({ root }) => root)
      opened.clear()
      for (const root of roots) await root.close()
    },
  }
}
