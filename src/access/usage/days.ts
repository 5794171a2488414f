import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { open, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzipSync, gzip } from 'node:zlib'
import { syncPath } from '../../shared/atomic-file.js'
import {
  CELL,
  DAY_INDEX,
  DAY_MS,
  DAY_SLOTS,
  dayOf,
  HEAD_BYTES,
  LAYOUT,
  methodCountsAt,
  placeOf,
  type Place,
} from './layout.js'
import { readMethods } from './meter.js'
import type { Options } from './options.js'

/** What the tokens of a place did with one method on one day. */
export type DayRow = Place & { readonly method: string } & Readonly<
    Record<keyof typeof DAY_INDEX, number>
  >

/** The rows of a file of counts, by their days since 1970. */
export type RowsByDay = ReadonlyMap<number, readonly DayRow[]>

const WHOLE = '.jsonl.gz'
/** Of places whose files were removed before their day was over. */
const PART = '.part.jsonl'

const compress = promisify(gzip)

/** A day as text, `2030-01-31`. */
export const formatDay = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10)

const parseName = (name: string, suffix: string): number | undefined =>
  name.endsWith(suffix) && /^\d{4}-\d\d-\d\d$/.test(name.slice(0, -suffix.length))
    ? dayOf(Date.parse(name.slice(0, -suffix.length)))
    : undefined

/** The head of a file of counts; shorter, or empty, where it has none. */
export const readHead = async (path: string): Promise<Buffer> => {
  const bytes = Buffer.alloc(HEAD_BYTES)
  try {
    const file = await open(path, 'r')
    try {
      const { bytesRead } = await file.read(bytes, 0, HEAD_BYTES, 0)
      return bytes.subarray(0, bytesRead)
    } finally {
      await file.close()
    }
  } catch {
    return bytes.subarray(0, 0)
  }
}

/** The rows of a place's file, of which at least the head was read. */
export const rowsOf = (name: string, bytes: Buffer): RowsByDay => {
  const rows = new Map<number, DayRow[]>()
  const place = placeOf(name)
  if (place === undefined || bytes.length < HEAD_BYTES) return rows
  if (bytes.readDoubleLE(CELL.layout * 8) !== LAYOUT) return rows
  const methods = readMethods(bytes)
  for (const slot of DAY_SLOTS) {
    const day = bytes.readDoubleLE(slot * 8)
    for (const [index, method] of methods.entries()) {
      const at = methodCountsAt(slot, index)
      const countOf = (name: keyof typeof DAY_INDEX): number =>
        bytes.readDoubleLE((at + DAY_INDEX[name]) * 8)
      const [requests, errors] = [countOf('requests'), countOf('errors')]
      const rateLimited = countOf('rateLimited')
      if (requests + errors + rateLimited === 0) continue
      const row = { ...place, method, requests, errors, rateLimited }
      rows.set(day, [...(rows.get(day) ?? []), row])
    }
  }
  return rows
}

const toLines = (rows: readonly DayRow[]): string =>
  rows.map(row => `${JSON.stringify(row)}\n`).join('')

/** A line that a full disk has left incomplete has no row. */
const parseLines = (text: string): DayRow[] =>
  text.split('\n').flatMap(line => {
    try {
      return line === '' ? [] : [JSON.parse(line) as DayRow]
    } catch {
      return []
    }
  })

const readOptional = (path: string): Buffer | undefined => {
  try {
    return readFileSync(path)
  } catch {
    return undefined
  }
}

/** The rows of a day that is over; undefined where it is not in a file of its own. */
export const readWholeDay = (dir: string, day: number): readonly DayRow[] | undefined => {
  const bytes = readOptional(join(dir, formatDay(day) + WHOLE))
  return bytes && parseLines(gunzipSync(bytes).toString())
}

/** The rows of places whose files were removed on a day that is in no file of its own. */
export const readDayPart = (dir: string, day: number): readonly DayRow[] =>
  parseLines(readOptional(join(dir, formatDay(day) + PART))?.toString() ?? '')

/** The days of a folder of days. */
export const listDays = (dir: string): readonly number[] => {
  try {
    return readdirSync(dir).flatMap(name => parseName(name, WHOLE) ?? parseName(name, PART) ?? [])
  } catch {
    return []
  }
}

/** The days at one edge that are over, each in a compressed file. The edge is the only writer. */
export class DayFiles {
  readonly #dir: string
  readonly #options: Pick<Options, 'keptDaysMax' | 'keptBytesMax'>
  readonly #written: Set<number>

  constructor(dir: string, options: Pick<Options, 'keptDaysMax' | 'keptBytesMax'>) {
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    this.#dir = dir
    this.#options = options
    this.#written = new Set(readdirSync(dir).flatMap(name => parseName(name, WHOLE) ?? []))
  }

  /** The first day after those that have a file. */
  get firstDay(): number {
    return Math.max(0, ...this.#written) + (this.#written.size > 0 ? 1 : 0)
  }

  has(day: number): boolean {
    return this.#written.has(day)
  }

  /** Days before this one of which a part is in a file, but not the whole. */
  partsBefore(day: number): readonly number[] {
    return readdirSync(this.#dir)
      .flatMap(name => parseName(name, PART) ?? [])
      .filter(part => part < day)
  }

  /** Keeps the rows of a place whose file is removed before its days are written. */
  addPart(rows: RowsByDay): void {
    for (const [day, found] of rows) {
      if (this.has(day)) continue
      const path = join(this.#dir, formatDay(day) + PART)
      const text = toLines(found)
      const bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0
      if (bytes + text.length > this.#options.keptBytesMax)
        throw new Error(`counts of ${formatDay(day)} exceed access.usage.keptBytesMax`)
      appendFileSync(path, text, { mode: 0o600 })
    }
  }

  /** Writes a day that is over, once; it is on disk when this resolves. */
  async write(day: number, rows: readonly DayRow[]): Promise<void> {
    const path = join(this.#dir, formatDay(day) + WHOLE)
    const part = join(this.#dir, formatDay(day) + PART)
    if (!this.has(day)) {
      const all = [...readDayPart(this.#dir, day), ...rows]
      const draft = `${path}.new`
      await writeFile(draft, await compress(toLines(all)), { mode: 0o600 })
      syncPath(draft)
      await rename(draft, path)
      syncPath(this.#dir)
      this.#written.add(day)
    }
    rmSync(part, { force: true })
  }

  /** Removes days that are older than is kept, and the oldest ones over the bound of bytes. */
  prune(today: number): void {
    const { keptBytesMax, keptDaysMax } = this.#options
    let bytes = 0
    for (const day of [...this.#written].toSorted((a, b) => b - a)) {
      const path = join(this.#dir, formatDay(day) + WHOLE)
      bytes += statSync(path, { throwIfNoEntry: false })?.size ?? 0
      if (day > today - keptDaysMax && bytes <= keptBytesMax) continue
      // It stays known: the place may still have its counts, for some days.
      rmSync(path, { force: true })
    }
  }
}
