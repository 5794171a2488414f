import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { open, type Database, type Key, type RootDatabase } from 'lmdb'
import { Packr } from 'msgpackr'
import * as v from 'valibot'
import { SCHEMA, TABLES, type TokenKey, type SubjectKey, type TableRow } from './tables.js'

type Value<R extends TableRow> = Readonly<v.InferOutput<R['value']>>

export type Options = Readonly<typeof defaults>

/** Bounds of the access store. All processes must open it with the same values. */
export const defaults = {
  /**
   * Address space of the map, set once so that no reader ever meets a grown map: over a million
   * tokens fit.
   */
  mapBytes: 1024 ** 3,
  /**
   * Read slots over all processes: one for each edge and control, with room for tools and for dead
   * ones.
   */
  readersMax: 256,
}

// Plain maps instead of msgpackr's own records: any msgpack tool can read a value, and none depends
// on another.
const packr = new Packr({ useRecords: false })

/**
 * One table. Reads see the store's current read transaction, or the write transaction that is open.
 */
export class Table<K extends Key, R extends TableRow> {
  readonly #db: Database<Buffer, K>
  readonly #row: R

  constructor(db: Database<Buffer, K>, row: R) {
    this.#db = db
    this.#row = row
  }

  get(key: K): Value<R> | undefined {
    const bytes = this.getBytes(key)
    return bytes === undefined ? undefined : this.decode(bytes)
  }

  /** The stored bytes, valid for as long as the caller wants. */
  getBytes(key: K): Buffer | undefined {
    return this.#db.getBinary(key)
  }

  /** Only inside `AccessStore.transaction`. The value is checked before it can reach the disk. */
  put(key: K, value: Value<R>): void {
    this.#db.putSync(key, this.encode(value))
  }

  /** Only inside `AccessStore.transaction`. True where there was one. */
  remove(key: K): boolean {
    return this.#db.removeSync(key)
  }

  /**
   * Every entry from `start` on, in key order. Leave the loop early where the rest is not wanted.
   */
  *from(start: K): Generator<[key: K, value: Value<R>]> {
    for (const { key, value } of this.#db.getRange({ start })) yield [key, this.decode(value)]
  }

  /** The first keys, in their order. */
  keys(limit: number): K[] {
    return [...this.#db.getKeys({ limit })]
  }

  encode(value: Value<R>): Buffer {
    return packr.pack(v.parse(this.#row.value, value))
  }

  /** Throws where the bytes are not what the table declares. */
  decode(bytes: Uint8Array): Value<R> {
    const result = v.safeParse<R['value']>(this.#row.value, packr.unpack(bytes))
    if (result.success) return result.output
    const path = v.getDotPath(result.issues[0]) ?? 'value'
    throw new Error(`access store: table ${this.#row.name}: ${path} is not of the declared shape`)
  }
}

/** Use of the store, for metrics. */
export type StoreStats = {
  readonly usedBytes: number
  readonly mapBytes: number
  readonly readers: number
}

/** The access store of one data directory: opened by control to write, by every edge to read. */
export class AccessStore {
  readonly #root: RootDatabase<Buffer>
  readonly meta: Table<string, typeof TABLES.meta>
  readonly accesses: Table<string, typeof TABLES.accesses>
  readonly subjects: Table<SubjectKey, typeof TABLES.subjects>
  readonly tokens: Table<TokenKey, typeof TABLES.tokens>
  readonly digests: Table<Uint8Array, typeof TABLES.digests>
  readonly sessions: Table<Uint8Array, typeof TABLES.sessions>

  constructor(root: RootDatabase<Buffer>) {
    this.#root = root
    this.meta = this.#openTable(TABLES.meta)
    this.accesses = this.#openTable(TABLES.accesses)
    this.subjects = this.#openTable(TABLES.subjects)
    this.tokens = this.#openTable(TABLES.tokens)
    this.digests = this.#openTable(TABLES.digests)
    this.sessions = this.#openTable(TABLES.sessions)
  }

  #openTable<K extends Key, R extends TableRow>(row: R): Table<K, R> {
    const options = { encoding: 'binary', keyEncoding: row.key } as const
    const db: Database<Buffer, K> | undefined = this.#root.openDB<Buffer, K>(row.name, options)
    // A read-only open answers undefined for a missing table, which lmdb's own types do not say.
    if (db === undefined) throw new Error(`access store: table ${row.name} is missing`)
    return new Table(db, row)
  }

  /** Runs `work` as one atomic change; a throw undoes it. On disk when the promise resolves. */
  async transaction<T>(work: () => T): Promise<T> {
    try {
      const result = await this.#root.childTransaction(work)
      await this.#root.flushed
      return result
    } catch (error) {
      if (v.is(Failed, error)) error.commitError.catch(() => {})
      throw error
    }
  }

  /**
   * Makes the next read see the newest commit. Otherwise lmdb keeps one snapshot until a timer
   * fires.
   */
  resetRead(): void {
    this.#root.resetReadTxn()
  }

  /** Frees the read slots of processes that died; returns how many. */
  clearStaleReaders(): number {
    return this.#root.readerCheck()
  }

  stats(): StoreStats {
    const stats = v.parse(Stats, this.#root.getStats())
    return {
      usedBytes: (stats.lastPageNumber + 1) * stats.pageSize,
      mapBytes: stats.mapSize,
      readers: stats.numReaders,
    }
  }

  close(): Promise<void> {
    return this.#root.close()
  }
}

/**
 * lmdb puts the reason of a failed commit into the error, as a promise whose rejection somebody
 * must hear.
 */
const Failed = v.object({ commitError: v.instance(Promise) })

const Stats = v.object({
  lastPageNumber: v.number(),
  pageSize: v.number(),
  mapSize: v.number(),
  numReaders: v.number(),
})

const storePath = (dataDir: string): string => join(dataDir, 'access')

const openRoot = (dataDir: string, options: Options, readOnly: boolean): RootDatabase<Buffer> =>
  open<Buffer>({
    path: storePath(dataDir),
    readOnly,
    noSubdir: false,
    encoding: 'binary',
    mapSize: options.mapBytes,
    maxReaders: options.readersMax,
    maxDbs: 16,
    // Off, so that no reader sees a change before it is on disk: what has been granted or taken
    // away once stays so, also after a power cut. Control writes rarely; it can wait for the disk.
    overlappingSync: false,
    // Off, because lmdb 3.5 otherwise rejects a promise that nobody has where a commit fails: a
    // full disk would end the process.
    eventTurnBatching: false,
  })

const checkSchema = (store: AccessStore): void => {
  const meta = store.meta.get('store')
  if (meta?.schema === SCHEMA) return
  throw new Error(
    `access store: layout ${meta?.schema ?? 'unknown'}, but this build reads ${SCHEMA}; ` +
      'run the build that wrote it, or restore a backup of this layout',
  )
}

/** A store of before there was this index has accesses and no row of it. */
const indexSubjects = async (store: AccessStore): Promise<void> => {
  const isIndexed = store.subjects.from(['', '']).next().done === false
  if (isIndexed || store.accesses.from('').next().done === true) return
  await store.transaction(() => {
    for (const [accessId, { subject }] of store.accesses.from(''))
      store.subjects.put([subject, accessId], {})
  })
}

/** Opens the store to write, and creates it where it is absent. One process only: control. */
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

/** Opens the store to read. It must exist: control creates it at its start. */
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
