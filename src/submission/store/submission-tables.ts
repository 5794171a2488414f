import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as v from 'valibot'
import {
  closeLmdbWriter,
  handleCommitError,
  makeRoom,
  openLmdb,
  openLmdbTable,
  readLmdbStats,
  type Lmdb,
  type LmdbStats,
  type LmdbTable,
} from '../../storage/lmdb.js'
import { AccessBounds } from './access-bounds.js'
import { endSince } from './end.js'
import { EndTable } from './end-table.js'
import { changesOf, toldOf, type Put, type PutParts } from './changes.js'
import { EventLog, lastPosition, readChanges, type ChangePage, type Position } from './event-log.js'
import type { Options } from './options.js'
import { accessRow, FIRST_ID, KEY_BYTES, LAST_ID, pack, signatureKey, unpack } from './rows.js'
import type { SearchBounds, SearchTests, SubmissionPage } from './search.js'
import { ID_BYTES, timeOfId } from './submission-id.js'
import {
  isLanderRoute,
  submissionSchema,
  type StoredSubmission,
  type Submission,
} from './submission.js'

/**
 * Layout of the tables and name of their folder: a build with another layout opens another folder.
 */
const LAYOUT = 'submissions-2'
/** Written once the tables are complete: lmdb 3.5 ends the process that opens incomplete ones. */
const READY = 'ready'
/** Most tables that LMDB makes room for. */
const TABLES_MAX = 8

/** Every table: submission id → submission, a msgpack map. */
export type TableName = 'forwarded' | 'invalid' | 'lander' | 'landerInvalid'
export const TABLE_NAMES: readonly TableName[] = ['forwarded', 'invalid', 'lander', 'landerInvalid']
type Table = LmdbTable<Uint8Array>

const Owned = v.object({ accessId: v.string(), signatures: v.array(v.string()) })
/** Rows that are read in one turn of the event loop where all are: some 2 ms. */
const LOADED_ROWS = 1_000
const Entries = v.object({ entryCount: v.number() })

/** Builds before the lander's submissions do not open its tables. */
export const tableNameOf = ({ outcome, route }: Submission): TableName => {
  if (isLanderRoute(route)) return outcome === 'invalid' ? 'landerInvalid' : 'lander'
  return outcome === 'invalid' ? 'invalid' : 'forwarded'
}

const NOTHING = Buffer.of(0)
/** Submissions of one signature and access that are looked at. */
const VISITED_MAX = 4

const toHex = (bytes: Uint8Array, from = 0, until = bytes.byteLength): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex', from, until)

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
  private readonly createBounds: () => readonly AccessBounds[]
  /** In the order of `TABLE_NAMES`. */
  private bounds: readonly AccessBounds[]
  private isClosed = false
  /** Access ‖ id → the number of the table in `TABLE_NAMES`. */
  private byAccess: Table | undefined
  /** `signatureKey` → nothing. */
  private bySignature: Table | undefined
  /** Access ‖ number → what submissions have come to, in order. */
  private events: Table | undefined
  private log: EventLog | undefined
  /** Ends that are to be counted; only of a writer. */
  private ended: EndTable | undefined

  constructor(path: string, options: Options, readOnly: boolean) {
    const { mapBytes, readersMax } = options
    const bounds = { mapBytes, readersMax, tablesMax: TABLES_MAX }
    const root = openLmdb({ path, ...bounds, isReadOnly: readOnly })
    this.root = root
    this.readOnly = readOnly
    this.createBounds = () => TABLE_NAMES.map(() => new AccessBounds(options.accessMax))
    this.bounds = this.createBounds()
    for (const name of TABLE_NAMES) this.openTable(name)
    this.openIndexes()
    if (readOnly) return
    const ends = openLmdbTable<Uint8Array>(root, 'ends', 'binary')
    this.ended = ends && new EndTable(ends)
    root.readerCheck()
  }

  /**
   * Learns which records each access has, in turns of the event loop. Until then an access may
   * exceed its bounds by what is written meanwhile.
   */
  async load(): Promise<void> {
    const all = this.createBounds()
    let count = 0
    if (this.isClosed) return
    for (const { key, value } of this.openIndexes()?.getRange({}) ?? []) {
      all[value[0] ?? -1]?.learn(toHex(key, 0, KEY_BYTES), toHex(key, KEY_BYTES))
      if (++count % LOADED_ROWS !== 0) continue
      await new Promise(setImmediate)
      if (this.isClosed) return
    }
    for (const [at, bounds] of this.bounds.entries()) all[at]?.learnAll(bounds)
    this.bounds = all
  }

  get(id: Uint8Array): Submission | undefined {
    this.refresh()
    for (const table of this.openTables()) {
      const value = table.getBinary(id)
      if (value !== undefined) return v.parse(submissionSchema, unpack(value))
    }
    return undefined
  }

  /**
   * Publishes what submissions come to from now on. To be called when no other process does so any
   * more.
   */
  async startPublishing(options: Options, nowMs: number): Promise<void> {
    if (this.events === undefined) return
    const log = new EventLog(this.events, options)
    await log.load(nowMs)
    this.log = log
  }

  /** Leaves that to another process. Resolves when all that was published is stored. */
  async stopPublishing(): Promise<void> {
    this.log = undefined
    await this.root.flushed
  }

  get isPublishing(): boolean {
    return this.log !== undefined
  }

  /** Writes a submission and the event of its changes at once. */
  put(id: Uint8Array, submission: Submission, { before, nowMs }: PutParts): Put | undefined {
    const name = tableNameOf(submission)
    const { byAccess, bySignature } = this
    const table = this.tables.get(name)
    if (table === undefined || byAccess === undefined || bySignature === undefined) return undefined
    if (before !== undefined && this.ended?.wasRemoved(id) === true) return undefined
    this.unpruned.add(name)
    const { accessId, network, route, signatures } = submission
    const known = before === undefined || before.untold === null ? undefined : before
    const told = before?.untold ?? (known && toldOf(known))
    const changes = changesOf(told, submission, nowMs)
    const isUntold = this.log === undefined && changes.length > 0
    const { untold: _untold, ...rest } = submission
    const stored: Submission = isUntold ? { ...rest, untold: told ?? null } : rest
    const end = endSince(before, submission)
    const row = accessRow(accessId, id)
    const number = TABLE_NAMES.indexOf(name)
    const evicted =
      before === undefined
        ? (this.bounds[number]?.add(toHex(row, 0, KEY_BYTES), toHex(id)) ?? [])
        : []
    const written = this.write(() => [
      table.put(id, pack(stored)),
      ...(before === undefined ? [byAccess.put(row, Buffer.of(number))] : []),
      ...(before === undefined || before.signatures.length < signatures.length
        ? signatures.map(signature => bySignature.put(signatureKey(signature, row), NOTHING))
        : []),
      ...(changes.length > 0
        ? (this.log?.append(accessId, { id, network, route, changes }, nowMs) ?? [])
        : []),
      ...((end && this.ended?.put(id, end)) ?? []),
      ...evicted.flatMap(text => this.removeRow(table, Buffer.from(text, 'hex'))),
    ])
    return { stored, written, told: isUntold ? [] : changes }
  }

  /** Searches the newest submissions of an access. */
  search(
    accessId: string,
    { isFound, isRow }: SearchTests,
    { before, countMax, from, visitMax }: SearchBounds,
  ): SubmissionPage {
    this.refresh()
    const found: StoredSubmission[] = []
    let visitCount = 0
    const range = {
      start: accessRow(accessId, before ?? LAST_ID),
      end: accessRow(accessId, from ?? FIRST_ID),
      reverse: true,
    }
    for (const { key, value: number } of this.openIndexes()?.getRange(range) ?? []) {
      const id = Uint8Array.from(key.subarray(KEY_BYTES))
      if (before !== undefined && Buffer.compare(id, before) >= 0) continue
      visitCount++
      const row = this.tableAt(number[0])?.getBinary(id)
      if (row !== undefined && isRow(row)) {
        const submission = v.parse(submissionSchema, unpack(row))
        if (isFound(submission)) found.push({ id, submission })
      }
      if (found.length === countMax || visitCount === visitMax) return { found, next: id }
    }
    return { found, next: undefined }
  }

  /** The newest submission of an access with this signature. */
  findSigned(accessId: string, signature: string): StoredSubmission | undefined {
    this.refresh()
    this.openIndexes()
    const range = {
      start: signatureKey(signature, accessRow(accessId, LAST_ID)),
      end: signatureKey(signature, accessRow(accessId, FIRST_ID)),
      reverse: true,
      limit: VISITED_MAX,
    }
    for (const key of this.bySignature?.getKeys(range) ?? []) {
      const id = Uint8Array.from(key.subarray(key.byteLength - ID_BYTES))
      const submission = this.get(id)
      // Keys have a part of a signature only.
      if (submission?.signatures.includes(signature) === true) return { id, submission }
    }
    return undefined
  }

  /** What the submissions of an access have come to since a position. */
  changes(accessId: string, from: Position, countMax: number): ChangePage | undefined {
    this.refresh()
    this.openIndexes()
    return this.events && readChanges(this.events, accessId, from, countMax)
  }

  /** The position after its newest event. */
  lastPosition(accessId: string): Position | undefined {
    this.refresh()
    this.openIndexes()
    return this.events && lastPosition(this.events, accessId)
  }

  /** Ids of submissions since an instant, newest first, at most `countMax` of each table. */
  newestIds(sinceMs: number, countMax: number, names = TABLE_NAMES): readonly Uint8Array[] {
    this.refresh()
    return this.openTables(names).flatMap(table => {
      const found: Uint8Array[] = []
      for (const key of table.getKeys({ reverse: true, limit: countMax })) {
        if (timeOfId(key) < sinceMs) break
        found.push(Uint8Array.from(key))
      }
      return found
    })
  }

  count(name: TableName): number {
    const table = this.tables.get(name)
    return table === undefined ? 0 : v.parse(Entries, table.getStats()).entryCount
  }

  /** Ends that wait to be counted, at most `countMax`. */
  waitingEnds(countMax: number): ReturnType<EndTable['page']> {
    this.refresh()
    return this.ended?.page(countMax) ?? { ids: [], ends: [] }
  }

  /** Resolves when ends that were counted are removed. */
  removeEnds(ids: readonly string[]): Promise<void> {
    return this.write(() => this.ended?.remove(ids) ?? [])
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
      this.write(() => this.removeRow(table, Uint8Array.from(id))).catch(onFault)
      removed++
    }
    // There may be more.
    if (removed === options.pruneCountMax) this.unpruned.add(name)
    if (oldest !== undefined) this.bounds[TABLE_NAMES.indexOf(name)]?.forgetBefore(toHex(oldest))
    for (const removed of this.log?.removeBefore(oldestMs) ?? []) handled(removed).catch(onFault)
    return count - removed
  }

  /** Waits for what is written. Nothing may be written from now on. */
  close(): Promise<void> {
    this.isClosed = true
    return this.readOnly ? this.root.close() : closeLmdbWriter(this.root)
  }

  /** The tables that there are: one that is opened to read may be made later. */
  private openTables(names = TABLE_NAMES): readonly Table[] {
    return names.flatMap(name => this.tables.get(name) ?? this.openTable(name) ?? [])
  }

  private openTable(name: TableName): Table | undefined {
    const table = openLmdbTable<Uint8Array>(this.root, name, 'binary')
    if (table !== undefined) this.tables.set(name, table)
    return table
  }

  /** Those that are opened to read may be made later. */
  private openIndexes(): Table | undefined {
    const open = (name: string) => openLmdbTable<Uint8Array>(this.root, name, 'binary')
    this.byAccess ??= open('byAccess')
    this.bySignature ??= open('bySignature')
    this.events ??= open('events')
    return this.byAccess
  }

  private tableAt(number: number | undefined): Table | undefined {
    const name = TABLE_NAMES[number ?? -1]
    return name && (this.tables.get(name) ?? this.openTable(name))
  }

  /** Removes a submission with its rows in the indexes. Its events stay, and its end is known. */
  private removeRow(table: Table, id: Uint8Array): readonly Promise<boolean>[] {
    const row = table.getBinary(id)
    if (row === undefined) return []
    const raw = unpack(row)
    const { accessId, signatures } = v.parse(Owned, raw)
    const own = accessRow(accessId, id)
    return [
      table.remove(id),
      ...[this.byAccess?.remove(own) ?? []].flat(),
      ...signatures.flatMap(one => this.bySignature?.remove(signatureKey(one, own)) ?? []),
      ...(this.ended?.putRemoved(id, raw) ?? []),
    ]
  }

  /** Writes that are committed together. */
  private async write(start: () => readonly Promise<boolean>[]): Promise<void> {
    makeRoom(this.root)
    let writes: readonly Promise<boolean>[] = []
    const whole = this.root.batch(() => {
      writes = start().map(handled)
    })
    const settled = await Promise.allSettled([handled(whole), ...writes])
    for (const one of settled) if (one.status === 'rejected') throw one.reason
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
