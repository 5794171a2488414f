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
import type { Options } from './options.js'
import { timeOfId } from './submission-id.js'
import { submissionSchema, type Submission } from './submission.js'

/**
 * Layout of the tables and name of their folder: a build with another layout opens another folder.
 */
const LAYOUT = 'submissions-1'
/** Written once the tables are complete: lmdb 3.5 ends the process that opens incomplete ones. */
const READY = 'ready'
/** Most tables that LMDB makes room for. */
const TABLES_MAX = 8

/** Every table: submission id → submission, a msgpack map. */
const TABLE_NAMES = ['forwarded', 'invalid'] as const
type TableName = (typeof TABLE_NAMES)[number]
type Table = LmdbTable<Uint8Array>

/** A submission with its id. */
export type StoredSubmission = { readonly id: Uint8Array; readonly submission: Submission }

// Plain maps, which any msgpack tool can read.
const packr = new Packr({ useRecords: false })
export const pack = (value: object): Buffer => packr.pack(value)
export const unpack = (bytes: Uint8Array): unknown => packr.unpack(bytes)

const Owned = v.object({ accessId: v.string() })
const Entries = v.object({ entryCount: v.number() })

const tableNameOf = ({ outcome }: Submission): TableName =>
  outcome === 'invalid' ? 'invalid' : 'forwarded'

/** Opens the tables of an edge's folder and creates them where there are none. */
export const openTables = (edgeDir: string, options: Options): SubmissionTables => {
  const path = join(edgeDir, LAYOUT)
  mkdirSync(path, { recursive: true, mode: 0o700 })
  const tables = new SubmissionTables(path, options, false)
  writeFileSync(join(path, READY), '')
  return tables
}

/** Opens them to read; undefined where there are none. */
export const openTablesToRead = (
  edgeDir: string,
  options: Options,
): SubmissionTables | undefined => {
  const path = join(edgeDir, LAYOUT)
  return existsSync(join(path, READY)) ? new SubmissionTables(path, options, true) : undefined
}

/** The LMDB tables with the submissions of one edge. */
export class SubmissionTables {
  private readonly root: Lmdb
  private readonly readOnly: boolean
  private readonly tables: ReadonlyMap<TableName, Table>

  constructor(path: string, options: Options, readOnly: boolean) {
    const { mapBytes, readersMax } = options
    const root = openLmdb({
      path,
      mapBytes,
      readersMax,
      tablesMax: TABLES_MAX,
      isReadOnly: readOnly,
    })
    const openTable = (name: TableName): readonly [TableName, Table] => {
      const table = openLmdbTable<Uint8Array>(root, name, 'binary')
      if (table === undefined) throw new Error(`no table ${name} at ${path}`)
      return [name, table]
    }
    this.root = root
    this.readOnly = readOnly
    this.tables = new Map(TABLE_NAMES.map(openTable))
    if (!readOnly) root.readerCheck()
  }

  get(id: Uint8Array): Submission | undefined {
    this.refresh()
    for (const table of this.tables.values()) {
      const value = table.getBinary(id)
      if (value !== undefined) return v.parse(submissionSchema, unpack(value))
    }
    return undefined
  }

  /** Resolves when other processes can read it. */
  async put(id: Uint8Array, submission: Submission): Promise<boolean> {
    const table = this.tables.get(tableNameOf(submission))
    return table !== undefined && (await handled(table.put(id, pack(submission))))
  }

  /** The newest submissions of an access in each table, among its last `visitMax`. */
  recent(
    accessId: string,
    { countMax, visitMax }: { readonly countMax: number; readonly visitMax: number },
  ): readonly StoredSubmission[] {
    this.refresh()
    return [...this.tables.values()].flatMap(table => {
      const found: StoredSubmission[] = []
      for (const { key, value } of table.getRange({ reverse: true, limit: visitMax })) {
        const unpacked = unpack(value)
        // Submissions of other accesses are not parsed further.
        if (v.parse(Owned, unpacked).accessId !== accessId) continue
        found.push({ id: Uint8Array.from(key), submission: v.parse(submissionSchema, unpacked) })
        if (found.length === countMax) break
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

  /** Removes the oldest submissions above the bounds of each table, and those before `oldestMs`. */
  prune(oldestMs: number, options: Options, onFault: (fault: unknown) => void): void {
    for (const [name, table] of this.tables) {
      let excess = this.count(name) - options[`${name}Max`]
      for (const id of table.getKeys({ limit: options.pruneCountMax })) {
        if (excess-- <= 0 && timeOfId(id) >= oldestMs) break
        handled(table.remove(id)).catch(onFault)
      }
    }
  }

  /** Waits for what is written. Nothing may be written from now on. */
  close(): Promise<void> {
    return this.readOnly ? this.root.close() : closeLmdbWriter(this.root)
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
