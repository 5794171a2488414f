import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Packr } from 'msgpackr'
import * as v from 'valibot'
import {
  handleCommitError,
  openLmdb,
  openLmdbTable,
  readLmdbStats,
  type Lmdb,
  type LmdbStats,
  type LmdbTable,
  type Key,
} from '../../storage/lmdb.js'
import { defaults, type Options } from './options.js'
import { SCHEMA, TABLES, type TokenKey, type SubjectKey, type TableRow } from './tables.js'

type Value<R extends TableRow> = Readonly<v.InferOutput<R['value']>>

/** LMDB reserves memory for this number of tables. */
const TABLES_MAX = 16

// Plain maps instead of msgpackr's own records, so that any msgpack tool can read a value by
// itself.
const packr = new Packr({ useRecords: false })

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

  /** Only inside `AccessStore.transaction`. The value is validated first. */
  put(key: K, value: Value<R>): void {
    this.#db.putSync(key, this.encode(value))
  }

  /** Only inside `AccessStore.transaction`. True if the key existed. */
  remove(key: K): boolean {
    return this.#db.removeSync(key)
  }

  /** All entries from `start` on, in key order, read one by one. */
  *from(start: K): Generator<[key: K, value: Value<R>]> {
    for (const { key, value } of this.#db.getRange({ start })) yield [key, this.decode(value)]
  }

  encode(value: Value<R>): Buffer {
    return packr.pack(v.parse(this.#row.value, value))
  }

  /** Throws if the bytes do not match the schema of the table. */
  decode(bytes: Uint8Array): Value<R> {
    const result = v.safeParse<R['value']>(this.#row.value, packr.unpack(bytes))
    if (result.success) return result.output
    const path = v.getDotPath(result.issues[0]) ?? 'value'
    throw new Error(`access store: table ${this.#row.name}: ${path} is not of the declared shape`)
  }
}

/** The access store of one data directory. Control is its writer, every edge a reader. */
export class AccessStore {
  readonly #root: Lmdb
  readonly meta: Table<string, typeof TABLES.meta>
  readonly accesses: Table<string, typeof TABLES.accesses>
  readonly subjects: Table<SubjectKey, typeof TABLES.subjects>
  readonly tokens: Table<TokenKey, typeof TABLES.tokens>
  readonly digests: Table<Uint8Array, typeof TABLES.digests>
  readonly sessions: Table<Uint8Array, typeof TABLES.sessions>

  constructor(root: Lmdb) {
    this.#root = root
    this.meta = this.#openTable(TABLES.meta)
    this.accesses = this.#openTable(TABLES.accesses)
    this.subjects = this.#openTable(TABLES.subjects)
    this.tokens = this.#openTable(TABLES.tokens)
    this.digests = this.#openTable(TABLES.digests)
    this.sessions = this.#openTable(TABLES.sessions)
  }

  #openTable<K extends Key, R extends TableRow>(row: R): Table<K, R> {
    const db = openLmdbTable<K>(this.#root, row.name, row.key)
    if (db === undefined) throw new Error(`access store: table ${row.name} is missing`)
    return new Table(db, row)
  }

  /**
   * Runs `work` as one transaction, and aborts it if `work` throws. On disk when the promise
   * resolves.
   */
  async transaction<T>(work: () => T): Promise<T> {
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

  close(): Promise<void> {
    return this.#root.close()
  }
}

const storePath = (dataDir: string): string => join(dataDir, 'access')

const openRoot = (dataDir: string, options: Options, isReadOnly: boolean): Lmdb =>
  openLmdb({ ...options, path: storePath(dataDir), tablesMax: TABLES_MAX, isReadOnly })

const checkSchema = (store: AccessStore): void => {
  const meta = store.meta.get('store')
  if (meta?.schema === SCHEMA) return
  throw new Error(
    `access store: layout ${meta?.schema ?? 'unknown'}, but this build reads ${SCHEMA}; ` +
      'run the build that wrote it, or restore a backup of this layout',
  )
}

/** Builds the index for a store that was written before the index existed. */
const indexSubjects = async (store: AccessStore): Promise<void> => {
  const isIndexed = store.subjects.from(['', '']).next().done === false
  if (isIndexed || store.accesses.from('').next().done === true) return
  await store.transaction(() => {
    for (const [accessId, { subject }] of store.accesses.from(''))
      store.subjects.put([subject, accessId], {})
  })
}

/** Opens the store to write, and creates it if it is absent. Only control may do so. */
export const openWriter = async (
  dataDir: string,
  options: Options = defaults,
): Promise<AccessStore> => {
  mkdirSync(storePath(dataDir), { recursive: true, mode: 0o700 })
  const store = new AccessStore(openRoot(dataDir, options, false))
  try {
    if (store.meta.get('store') === undefined)
      await store.transaction(() => store.meta.put('store', { schema: SCHEMA, sealingKeyId: null }))
    checkSchema(store)
    await indexSubjects(store)
  } catch (error) {
    await store.close()
    throw error
  }
  return store
}

/** Opens the store to read. It must exist; control creates it at its start. */
export const openReader = async (
  dataDir: string,
  options: Options = defaults,
): Promise<AccessStore> => {
  if (!existsSync(join(storePath(dataDir), 'data.mdb')))
    throw new Error(
      `access store: nothing at ${storePath(dataDir)}; control creates it at its start`,
    )
  const root = openRoot(dataDir, options, true)
  try {
    const store = new AccessStore(root)
    checkSchema(store)
    return store
  } catch (error) {
    await root.close()
    throw error
  }
}
