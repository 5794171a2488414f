import { closeSync, fstatSync, mkdirSync, openSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { open, type Database, type Key, type RootDatabase } from 'lmdb'
import { allocateFile } from '../native/os.js'

export type { Key }
/** A store of binary values. */
export type Lmdb = RootDatabase<Buffer>
/** A table of a store. */
export type LmdbTable<K extends Key> = Database<Buffer, K>

export type LmdbOptions = {
  readonly path: string
  /** Address space of the map, fixed so that no reader has to remap it. */
  readonly mapBytes: number
  readonly readersMax: number
  readonly tablesMax: number
  readonly isReadOnly: boolean
}

/** Use of a store, for metrics. */
export type LmdbStats = {
  readonly usedBytes: number
  readonly mapBytes: number
  readonly readers: number
}

/**
 * Bytes of LMDB's lock file for one reader, and more than it has before them. LMDB has as many
 * readers as the file has room for.
 */
const READER_BYTES = 64
const LOCK_HEAD_BYTES = 1_024

/**
 * Allocates the lock file, which lmdb leaves sparse and maps. Only before lmdb opens it: closing
 * another descriptor of an open one would release the locks of this process.
 */
const allocateLock = ({ path, readersMax }: LmdbOptions): void => {
  const file = join(path, 'lock.mdb')
  const byteLength = LOCK_HEAD_BYTES + readersMax * READER_BYTES
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) >= byteLength) return
  mkdirSync(path, { recursive: true, mode: 0o700 })
  allocateFile(file, byteLength)
}

type StoreFile = {
  readonly path: string
  /** It is so long at least. */
  byteLength: number
  /** There is room for what this turn of the event loop writes, which is one commit. */
  hasRoom: boolean
}

/** Files of the open stores. */
const files = new WeakMap<Lmdb, StoreFile>()

/** Opens a store, which is a folder. All processes must open it with the same options. */
export const openLmdb = (options: LmdbOptions): Lmdb => {
  if (!options.isReadOnly) allocateLock(options)
  const store = open<Buffer>({
    path: options.path,
    readOnly: options.isReadOnly,
    noSubdir: false,
    encoding: 'binary',
    mapSize: options.mapBytes,
    maxReaders: options.readersMax,
    maxDbs: options.tablesMax,
    // Off, so that no reader sees a change before it is on disk, and because lmdb 3.5 otherwise
    // waits for the disk on a thread that a close does not wait for.
    overlappingSync: false,
    // Off, because lmdb 3.5 otherwise rejects a promise that no caller can handle when a commit
    // fails, and a full disk would end the process.
    eventTurnBatching: false,
  })
  files.set(store, { path: join(options.path, 'data.mdb'), byteLength: 0, hasRoom: false })
  return store
}

/** Opens a table; undefined if a store that is opened to read does not have it. */
export const openLmdbTable = <K extends Key>(
  store: Lmdb,
  name: string,
  keyEncoding: 'binary' | 'ordered-binary',
): LmdbTable<K> | undefined =>
  // The types of lmdb do not declare the undefined.
  store.openDB<Buffer, K>(name, { encoding: 'binary', keyEncoding })

/**
 * Handles the rejection that lmdb attaches to the error of a failed commit: unhandled, it would end
 * the process.
 */
export const handleCommitError = (error: unknown): void => {
  if (typeof error !== 'object' || error === null || !('commitError' in error)) return
  if (error.commitError instanceof Promise) error.commitError.catch(() => {})
}

/** After a commit lmdb's thread reads the store once more, and ends the process if it is closed. */
const CLOSE_GRACE_MS = 50

/** Waits for what is written and closes the store. Nothing may be written from now on. */
export const closeLmdbWriter = async (store: Lmdb): Promise<void> => {
  await store.flushed
  await sleep(CLOSE_GRACE_MS)
  await store.close()
}

const numberAt = (stats: object, name: string): number => {
  const value: unknown = Object.entries(stats).find(([key]) => key === name)?.[1]
  if (typeof value === 'number') return value
  throw new Error(`lmdb reports no ${name}`)
}

/** Bytes of a store's file behind those that it uses: more than one commit adds to it. */
const ROOM = Buffer.alloc(1024 ** 2)

/**
 * Lengthens the file of a store, so that the next commit adds nothing to it. Throws if the disk is
 * full and the room of earlier calls is used. lmdb 3.5 must not meet that itself: it writes the
 * sentence that says so behind the end of 100 bytes, and the process often ends soon after.
 */
export const makeRoom = (store: Lmdb): void => {
  const file = files.get(store)
  if (file === undefined) throw new Error('the store was not opened here')
  if (file.hasRoom) return
  const neededBytes = readLmdbStats(store).usedBytes + ROOM.byteLength
  if (file.byteLength < neededBytes) lengthen(file, neededBytes)
  file.hasRoom = true
  setImmediate(() => {
    file.hasRoom = false
  })
}

const lengthen = (file: StoreFile, neededBytes: number): void => {
  const descriptor = openSync(file.path, 'a')
  try {
    file.byteLength = fstatSync(descriptor).size
    while (file.byteLength < neededBytes + ROOM.byteLength)
      file.byteLength += writeSync(descriptor, ROOM)
  } catch (error) {
    if (file.byteLength < neededBytes) throw error
  } finally {
    closeSync(descriptor)
  }
}

/** What lmdb reports of a store; its own types do not declare it. */
export const readLmdbStats = (store: Lmdb): LmdbStats => {
  const stats: object = store.getStats()
  return {
    usedBytes: (numberAt(stats, 'lastPageNumber') + 1) * numberAt(stats, 'pageSize'),
    mapBytes: numberAt(stats, 'mapSize'),
    readers: numberAt(stats, 'numReaders'),
  }
}
