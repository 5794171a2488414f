import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Packr } from 'msgpackr'
import * as v from 'valibot'
import {
  closeLmdbWriter,
  handleCommitError,
  openLmdb,
  openLmdbTable,
  readLmdbStats,
  type Lmdb,
  type LmdbStats,
  type LmdbTable,
} from '../../storage/lmdb.js'
import { AccessBounds } from './access-bounds.js'
import type { Options } from './options.js'
import type { SubmissionPage } from './search.js'
import { timeOfId } from './submission-id.js'
import {
  isLanderRoute,
  submissionSchema,
  type StoredSubmission,
  type Submission,
} from './submission.js'

/**
 * Layout of the tables and name of their folder: a build with another layout opens another folder.
 */
const LAYOUT = 'submissions-1'
/** Written once the tables are complete: lmdb 3.5 ends the process that opens incomplete ones. */
const READY = 'ready'
/** Most tables that LMDB makes room for. */
const TABLES_MAX = 8

/** Every table: submission id → submission, a msgpack map. */
export const TABLE_NAMES = ['forwarded', 'invalid', 'lander', 'landerInvalid'] as const
export type TableName = (typeof TABLE_NAMES)[number]
type Table = LmdbTable<Uint8Array>

/** Bounds of one search of each table. */
export type SearchBounds = {
  readonly before?: Uint8Array | undefined
  readonly countMax: number
  readonly visitMax: number
}

// Plain maps, which any msgpack tool can read.
const packr = new Packr({ useRecords: false })
export const pack = (value: object): Buffer => packr.pack(value)
export const unpack = (bytes: Uint8Array): unknown => packr.unpack(bytes)

const Owned = v.object({ accessId: v.string() })
/** Rows that are read at once where all are. */
const LOADED_ROWS = 2_000
const Entries = v.object({ entryCount: v.number() })

/** Builds before the lander's submissions do not open its tables. */
export const tableNameOf = ({ outcome, route }: Submission): TableName => {
  if (isLanderRoute(route)) return outcome === 'invalid' ? 'landerInvalid' : 'lander'
  return outcome === 'invalid' ? 'invalid' : 'forwarded'
}

const toHex = (id: Uint8Array): string =>
  Buffer.from(id.buffer, id.byteOffset, id.byteLength).toString('hex')

/** Opens the tables of a folder and creates them where there are none. */
export const openTables = (dir: string, options: Options): SubmissionTables => {
  const path = join(dir, LAYOUT)
  mkdirSync(path, { recursive: true, mode: 0o700 })
  const tables = new SubmissionTables(path, options, false)
  writeFileSync(join(path, READY), '')
  return tables
}

/** Opens them to read; undefined where there are none. */
export const openTablesToRead = (dir: string, options: Options): SubmissionTables | undefined => {
  const path = join(dir, LAYOUT)
  return existsSync(join(path, READY)) ? new SubmissionTables(path, options, true) : undefined
}

/** The LMDB tables with the submissions. */
export class SubmissionTables {
  /** Tables that were written to since they were pruned. */
  readonly unpruned = new Set<TableName>()
  private readonly root: Lmdb
  private readonly readOnly: boolean
  private readonly tables = new Map<TableName, Table>()
  private readonly bounds: ReadonlyMap<TableName, AccessBounds>

  constructor(path: string, options: Options, readOnly: boolean) {
    const { mapBytes, readersMax } = options
    const root = openLmdb({
      path,
      mapBytes,
      readersMax,
      tablesMax: TABLES_MAX,
      isReadOnly: readOnly,
    })
    this.root = root
    this.readOnly = readOnly
    this.bounds = new Map(TABLE_NAMES.map(name => [name, new AccessBounds(options.accessMax)]))
    for (const name of TABLE_NAMES) this.openTable(name)
    if (!readOnly) root.readerCheck()
  }

  /** Learns which records each access has. A writer calls it before it writes. */
  async load(): Promise<void> {
    for (const [name, table] of this.tables) {
      let count = 0
      for (const { key, value } of table.getRange()) {
        this.bounds.get(name)?.add(v.parse(Owned, unpack(value)).accessId, toHex(key))
        if (++count % LOADED_ROWS === 0) await new Promise(setImmediate)
      }
    }
  }

  get(id: Uint8Array): Submission | undefined {
    this.refresh()
    for (const table of this.openTables()) {
      const value = table.getBinary(id)
      if (value !== undefined) return v.parse(submissionSchema, unpack(value))
    }
    return undefined
  }

  /** Resolves when other processes can read it. */
  async put(id: Uint8Array, submission: Submission): Promise<boolean> {
    const name = tableNameOf(submission)
    const table = this.tables.get(name)
    if (table === undefined) return false
    this.unpruned.add(name)
    const evicted = this.bounds.get(name)?.add(submission.accessId, toHex(id))
    const written = handled(table.put(id, pack(submission)))
    if (evicted !== undefined) await handled(table.remove(Buffer.from(evicted, 'hex')))
    return written
  }

  /** Searches the newest rows of each table before `before`, at most `visitMax` of each. */
  search(
    isRow: (row: Buffer) => boolean,
    isFound: (submission: Submission) => boolean,
    { before, countMax, visitMax }: SearchBounds,
  ): readonly SubmissionPage[] {
    this.refresh()
    return this.openTables().map(table => {
      const found: StoredSubmission[] = []
      let visitCount = 0
      const start = before === undefined ? {} : { start: before }
      for (const { key, value } of table.getRange({ ...start, reverse: true })) {
        if (before !== undefined && Buffer.compare(key, before) >= 0) continue
        visitCount++
        if (isRow(value)) {
          const submission = v.parse(submissionSchema, unpack(value))
          if (isFound(submission)) found.push({ id: Uint8Array.from(key), submission })
        }
        if (found.length === countMax || visitCount === visitMax)
          return { found, next: Uint8Array.from(key) }
      }
      return { found, next: undefined }
    })
  }

  /** Submissions since an instant, newest first, at most `countMax` of each table. */
  newest(sinceMs: number, countMax: number): readonly StoredSubmission[] {
    return this.openTables().flatMap(table => {
      const found: StoredSubmission[] = []
      for (const { key, value } of table.getRange({ reverse: true, limit: countMax })) {
        if (timeOfId(key) < sinceMs) break
        found.push({
          id: Uint8Array.from(key),
          submission: v.parse(submissionSchema, unpack(value)),
        })
      }
      return found
    })
  }

  count(name: TableName): number {
    const table = this.tables.get(name)
    return table === undefined ? 0 : v.parse(Entries, table.getStats()).entryCount
  }

  usage(): LmdbStats {
    return readLmdbStats(this.root)
  }

  /**
   * Removes the oldest submissions of a table above its bound, and those before `oldestMs`. Returns
   * how many are left.
   */
  prune(
    name: TableName,
    oldestMs: number,
    options: Options,
    onFault: (fault: unknown) => void,
  ): number {
    const table = this.tables.get(name)
    if (table === undefined) return 0
    const count = this.count(name)
    let excess = count - options[`${name}Max`]
    let removed = 0
    this.unpruned.delete(name)
    let oldest: Uint8Array | undefined
    for (const id of table.getKeys({ limit: options.pruneCountMax })) {
      oldest ??= id
      if (excess-- <= 0 && timeOfId(id) >= oldestMs) break
      handled(table.remove(id)).catch(onFault)
      removed++
    }
    // There may be more.
    if (removed === options.pruneCountMax) this.unpruned.add(name)
    if (oldest !== undefined) this.bounds.get(name)?.forgetBefore(toHex(oldest))
    return count - removed
  }

  /** Waits for what is written. Nothing may be written from now on. */
  close(): Promise<void> {
    return this.readOnly ? this.root.close() : closeLmdbWriter(this.root)
  }

  /** The tables that there are: one that is opened to read may be made later. */
  private openTables(): readonly Table[] {
    return TABLE_NAMES.flatMap(name => this.tables.get(name) ?? this.openTable(name) ?? [])
  }

  private openTable(name: TableName): Table | undefined {
    const table = openLmdbTable<Uint8Array>(this.root, name, 'binary')
    if (table !== undefined) this.tables.set(name, table)
    return table
  }

  /** Otherwise lmdb keeps one snapshot until a timer fires. */
  private refresh(): void {
    this.root.resetReadTxn()
  }
}

const handled = async (writing: Promise<boolean>): Promise<boolean> => {
  try {
    return await writing
  } catch (error) {
    handleCommitError(error)
    throw error
  }
}
