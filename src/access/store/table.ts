import { Packr } from 'msgpackr'
import * as v from 'valibot'
import {
  handleCommitError,
  makeRoom,
  openLmdb,
  openLmdbTable,
  readLmdbStats,
  type Key,
  type Lmdb,
  type LmdbStats,
  type LmdbTable,
} from '../../storage/lmdb.js'
import type { Options } from './options.js'

/** Encoding of keys: `ordered-binary` sorts by their parts, like strings. */
type KeyEncoding = 'ordered-binary' | 'binary'

/** Declaration of a table. */
export type TableRow = {
  readonly name: string
  readonly key: KeyEncoding
  readonly value: v.GenericSchema
  readonly meaning: string
}

type Value<R extends TableRow> = Readonly<v.InferOutput<R['value']>>

// Plain maps instead of msgpackr's own records, so that any msgpack tool can read a value by
// itself.
const packr = new Packr({ useRecords: false })

/** A value as it is stored. Throws if it is not of the declared shape. */
export const encodeValue = <R extends TableRow>(row: R, value: Value<R>): Buffer =>
  packr.pack(v.parse(row.value, value))

/** Throws if the bytes do not match the schema of the table. */
export const decodeValue = <R extends TableRow>(row: R, bytes: Uint8Array): Value<R> => {
  const result = v.safeParse<R['value']>(row.value, packr.unpack(bytes))
  if (result.success) return result.output
  const path = v.getDotPath(result.issues[0]) ?? 'value'
  throw new Error(`access store: table ${row.name}: ${path} is not of the declared shape`)
}

/** A table. Reads use the store's current read transaction, or the open write transaction. */
export class Table<K extends Key, R extends TableRow> {
  readonly #db: LmdbTable<K>
  readonly #row: R

  constructor(db: LmdbTable<K>, row: R) {
    this.#db = db
    this.#row = row
  }

  get(key: K): Value<R> | undefined {
    const bytes = this.getBytes(key)
    return bytes === undefined ? undefined : this.decode(bytes)
  }

  /** A copy of the stored bytes. */
  getBytes(key: K): Buffer | undefined {
    return this.#db.getBinary(key)
  }

  /** Only inside a transaction of the store. The value is validated first. */
  put(key: K, value: Value<R>): void {
    this.#db.putSync(key, this.encode(value))
  }

  /** Only inside a transaction of the store. True if the key existed. */
  remove(key: K): boolean {
    return this.#db.removeSync(key)
  }

  /** Removes everything. Only inside a transaction of the store. */
  clear(): void {
    for (const key of [...this.#db.getKeys()]) this.#db.removeSync(key)
  }

  /** All entries from `start` on, in key order, read one by one. */
  *from(start: K): Generator<[key: K, value: Value<R>]> {
    for (const { key, value } of this.#db.getRange({ start })) yield [key, this.decode(value)]
  }

  encode(value: Value<R>): Buffer {
    return encodeValue(this.#row, value)
  }

  /** Throws if the bytes do not match the schema of the table. */
  decode(bytes: Uint8Array): Value<R> {
    return decodeValue(this.#row, bytes)
  }
}

/** LMDB reserves memory for this number of tables. */
const TABLES_MAX = 16

/** Opens the LMDB environment of a store, which is a folder. */
export const openRoot = (path: string, options: Options, isReadOnly: boolean): Lmdb =>
  openLmdb({ ...options, path, tablesMax: TABLES_MAX, isReadOnly })

/** A store of tables in one LMDB environment: one process writes it. */
export class TableStore {
  readonly #root: Lmdb

  constructor(root: Lmdb) {
    this.#root = root
  }

  protected openTable<K extends Key, R extends TableRow>(row: R): Table<K, R> {
    const table = this.findTable<K, R>(row)
    if (table === undefined) throw new Error(`access store: table ${row.name} is missing`)
    return table
  }

  /** Undefined where a store that is opened to read does not have it. */
  protected findTable<K extends Key, R extends TableRow>(row: R): Table<K, R> | undefined {
    const db = openLmdbTable<K>(this.#root, row.name, row.key)
    return db && new Table(db, row)
  }

  /**
   * Runs `work` as one transaction, and aborts it if `work` throws. On disk when the promise
   * resolves.
   */
  async transaction<T>(work: () => T): Promise<T> {
    makeRoom(this.#root)
    try {
      const result = await this.#root.childTransaction(work)
      await this.#root.flushed
      return result
    } catch (error) {
      handleCommitError(error)
      throw error
    }
  }

  /**
   * Makes the next read see the newest commit. Otherwise lmdb keeps its snapshot until a timer
   * fires.
   */
  resetRead(): void {
    this.#root.resetReadTxn()
  }

  /** Frees the reader slots of ended processes; returns their number. */
  clearStaleReaders(): number {
    return this.#root.readerCheck()
  }

  stats(): LmdbStats {
    return readLmdbStats(this.#root)
  }

  /** Writes a compacted copy as of one commit into a folder, while another process writes. */
  copyTo(dir: string): Promise<void> {
    return this.#root.backup(dir, true)
  }

  close(): Promise<void> {
    return this.#root.close()
  }
}
