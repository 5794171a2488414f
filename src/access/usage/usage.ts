import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { sharedCells } from '../../native/os.js'
import { DayFiles, readHead, rowsOf, type DayRow } from './days.js'
import { FailureLogs } from './failure-log.js'
import { HistoryFiles, type Over } from './history-files.js'
import {
  CELL,
  dayOf,
  daysPath,
  failuresPath,
  fileOf,
  HEAD_BYTES,
  historyPath,
  HOUR_MS,
  LAYOUT,
  MINUTE_MS,
  MINUTES,
  UNKNOWN_TOKEN,
  USAGE_CELLS,
  usagePath,
  type Place,
  type RefusalReason,
} from './layout.js'
import { Meter, type OnFailure, type OpenDays } from './meter.js'
import { defaults, type Options } from './options.js'
import { readCells } from './reader.js'

/** How long calls may take that were received in an hour. */
const SETTLE_MS = 300_000

/** Names of the files of places, the least recently written one first. */
const filesByAge = (dir: string): string[] =>
  readdirSync(dir)
    .filter(name => name !== UNKNOWN_TOKEN)
    .map(name => ({ name, atMs: statSync(join(dir, name)).mtimeMs }))
    .sort((one, other) => one.atMs - other.atMs)
    .map(({ name }) => name)

/** When a file was last counted in, in minutes since 1970; 0 where it is of another layout. */
const minuteOf = (head: Buffer): number =>
  head.length === HEAD_BYTES && head.readDoubleLE(CELL.layout * 8) === LAYOUT
    ? head.readDoubleLE(CELL.minute * 8)
    : 0

export type UsageParts = {
  readonly options?: Options
  /** Called where counts cannot be stored. */
  readonly onFault: (fault: unknown) => void
  /** Unix milliseconds. */
  readonly now?: () => number
}

/** The counts of one edge, by place. The edge is the only writer of its files. */
export class Usage {
  readonly #dir: string
  readonly #options: Options
  readonly #onFault: (fault: unknown) => void
  readonly #meters = new Map<string, Meter>()
  readonly #days: DayFiles
  readonly #history: HistoryFiles
  readonly #failures: FailureLogs
  readonly #now: () => number
  readonly #open: OpenDays
  /** Names of files without a meter, the least recently used one first. */
  readonly #unused: Set<string>
  /** Of attempts with tokens that do not exist. */
  readonly #unknown: Meter
  #sweeping: Promise<void> | undefined

  constructor(
    dirs: {
      readonly minutes: string
      readonly days: string
      readonly history: string
      readonly failures: string
    },
    { options = defaults, onFault, now = Date.now }: UsageParts,
  ) {
    this.#dir = dirs.minutes
    this.#now = now
    this.#options = options
    this.#onFault = onFault
    this.#days = new DayFiles(dirs.days, options)
    this.#history = new HistoryFiles({ usage: dirs.minutes, history: dirs.history }, options)
    this.#failures = new FailureLogs(dirs.failures, options, onFault)
    this.#open = { firstDay: this.#days.firstDay }
    this.#unused = new Set(filesByAge(dirs.minutes))
    this.#unknown = this.#openMeter(UNKNOWN_TOKEN)
  }

  /** The meter of a place. */
  meterOf(place: Place): Meter {
    const name = fileOf(place)
    const known = this.#meters.get(name)
    if (known !== undefined) return known
    if (this.#meters.size >= this.#options.tokensMax) this.#evictOldest()
    this.#unused.delete(name)
    this.#removeOverMax()
    const meter = this.#openMeter(
      name,
      (method, { code, text = '', origin = 'service', addressOf }, nowMs) =>
        this.#failures.add(place, { method, code, text, origin }, addressOf ?? (() => ''), nowMs),
    )
    this.#meters.set(name, meter)
    return meter
  }

  /**
   * Counts a refused attempt; `place` is undefined where there is no such token. `formerTail` is
   * the end of a former token.
   */
  addRefused(
    reason: RefusalReason,
    { place, formerTail }: { readonly place?: Place; readonly formerTail?: string },
    address: string,
    nowMs: number,
  ): void {
    const meter = place === undefined ? this.#unknown : this.meterOf(place)
    meter.addRefused(reason, address, nowMs)
    if (formerTail !== undefined) meter.addReplaced(formerTail, address, nowMs)
  }

  /**
   * Writes the hours that are over to the histories of their places, and the days, each to a file
   * of its own; removes the files of places that were not used for a day. A sweep that runs is
   * joined.
   */
  sweep(nowMs: number): Promise<void> {
    this.#sweeping ??= this.#sweep(nowMs)
      .catch(this.#onFault)
      .finally(() => (this.#sweeping = undefined))
    return this.#sweeping
  }

  async #sweep(nowMs: number): Promise<void> {
    const today = dayOf(nowMs)
    // First: from here on nothing is counted in a day that is read below.
    this.#open.firstDay = Math.max(this.#open.firstDay, today)
    const oldestMinute = nowMs / MINUTE_MS - MINUTES
    const rows = new Map<number, DayRow[]>(this.#days.partsBefore(today).map(day => [day, []]))
    const old: string[] = []
    const over = { hour: Math.floor((nowMs - SETTLE_MS) / HOUR_MS), day: today }
    for (const name of readdirSync(this.#dir)) {
      if (name === UNKNOWN_TOKEN) continue
      const head = await readHead(join(this.#dir, name))
      const isKnown = minuteOf(head) > 0
      if (isKnown && this.#history.lacks(name, head, over)) this.#toHistory(name, over)
      if (minuteOf(head) < oldestMinute) old.push(name)
      for (const [day, found] of rowsOf(name, head))
        if (day < today && !this.#days.has(day)) rows.set(day, [...(rows.get(day) ?? []), ...found])
    }
    for (const [day, found] of [...rows].toSorted(([a], [b]) => a - b))
      await this.#days.write(day, found)
    this.#days.prune(today)
    for (const name of old) this.#removeOld(name, oldestMinute)
    await this.#history.prune(nowMs)
  }

  /** Appends what is over to the history of a place. */
  #toHistory(name: string, over: Over): void {
    try {
      const file = readCells(join(this.#dir, name))
      if (file !== undefined) this.#history.append(name, file, over)
    } catch (fault) {
      this.#onFault(fault)
    }
  }

  #removeOld(name: string, oldestMinute: number): void {
    const meter = this.#meters.get(name)
    if (meter !== undefined && meter.minute < oldestMinute) this.#evict(name)
    // It may have been used again since its head was read.
    if (this.#unused.delete(name)) this.#removeFile(name)
  }

  #removeFile(name: string): void {
    // Also the hour and the day that are not over.
    this.#toHistory(name, { hour: Infinity, day: Infinity })
    this.#history.forget(name)
    rmSync(join(this.#dir, name), { force: true, recursive: true })
  }

  #openMeter(name: string, onFailure?: OnFailure): Meter {
    try {
      const path = join(this.#dir, name)
      const cells = sharedCells(path, USAGE_CELLS)
      // The next request of the place overwrites the minutes of a day ago.
      const idleMinutes = this.#now() / MINUTE_MS - (cells[CELL.minute] ?? 0)
      if (name !== UNKNOWN_TOKEN && idleMinutes > MINUTES / 2)
        this.#toHistory(name, { hour: Infinity, day: dayOf(this.#now()) })
      return new Meter(cells, this.#open, onFailure)
    } catch (fault) {
      // A full disk must not refuse requests. These counts stay in memory, and the dashboard does
      // not show them.
      this.#onFault(fault)
      return new Meter(new Float64Array(USAGE_CELLS), this.#open, onFailure)
    }
  }

  #evictOldest(): void {
    let oldest: string | undefined
    let oldestMinute = Infinity
    for (const [name, { minute }] of this.#meters)
      if (minute < oldestMinute) [oldest, oldestMinute] = [name, minute]
    if (oldest !== undefined) this.#evict(oldest)
  }

  /** The file of the place stays. */
  #evict(name: string): void {
    const meter = this.#meters.get(name)
    if (meter !== undefined) meter.isEvicted = true
    this.#meters.delete(name)
    this.#unused.add(name)
  }

  /** Removes files, so that there is room for one more. What they have of open days is kept. */
  #removeOverMax(): void {
    for (const name of this.#unused) {
      if (this.#meters.size + this.#unused.size < this.#options.filesMax) return
      this.#unused.delete(name)
      const path = join(this.#dir, name)
      try {
        this.#days.addPart(rowsOf(name, readFileSync(path)))
      } catch (fault) {
        this.#onFault(fault)
      }
      this.#removeFile(name)
    }
  }
}

/** Opens the counts of one edge. */
export const openUsage = (dataDir: string, edgeIndex: number, parts: UsageParts): Usage => {
  const minutes = usagePath(dataDir, edgeIndex)
  mkdirSync(minutes, { recursive: true, mode: 0o700 })
  const [days, history] = [daysPath(dataDir, edgeIndex), historyPath(dataDir, edgeIndex)]
  const failures = failuresPath(dataDir, edgeIndex)
  return new Usage({ minutes, days, history, failures }, parts)
}
