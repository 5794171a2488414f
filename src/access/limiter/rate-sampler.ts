import type { PeakRow } from '../../usage/store.js'
import { keyOfAccess, type LimitTable, type Utilisation } from './limit-table.js'

/** Time between two samples. */
export const SAMPLE_MS = 1_000
/** A shorter time gives no rate of a second. */
const SAMPLE_MS_MIN = 900

/** Mean use of limits over the window of the sampler. */
export type Means = {
  readonly requestsPerSecond: number
  readonly requestsInFlight: number
  readonly sockets: number
  readonly subscriptionsOfSocket: number
}

const COLUMNS = 4

/** The last samples of an access, of which those that it has not count as 0. */
class Window {
  readonly #samples: Float32Array
  #next = 0

  constructor(length: number) {
    this.#samples = new Float32Array(length * COLUMNS)
  }

  add(values: ArrayLike<number>): void {
    this.#samples.set(values, this.#next)
    this.#next = (this.#next + COLUMNS) % this.#samples.length
  }

  means(): Means {
    const sums = [0, 0, 0, 0]
    for (const [index, value] of this.#samples.entries())
      sums[index % COLUMNS] = (sums[index % COLUMNS] ?? 0) + value
    const length = this.#samples.length / COLUMNS
    const [requestsPerSecond = 0, requestsInFlight = 0, sockets = 0, subscriptionsOfSocket = 0] =
      sums.map(sum => sum / length)
    return { requestsPerSecond, requestsInFlight, sockets, subscriptionsOfSocket }
  }
}

/** Where the counts of a row stood at the last sample. */
type Last = {
  readonly window: Window
  readonly row: number
  readonly charged: number
  readonly perSecond: number
}

/** A quarter of an hour. */
const QUARTER_MS = 900_000

/** The highest rate of an access in the present quarter-hour. */
type Peak = {
  readonly key: string
  quarter: number
  perSecond: number
  atMs: number
  isRecorded: boolean
}

/** What an access did lately on this machine. */
export type AccessRates = {
  /** Requests that the limiter has charged in the last second. */
  readonly requestsLastSecond: number
  readonly means: Means
}

const NO_MEANS: Means = {
  requestsPerSecond: 0,
  requestsInFlight: 0,
  sockets: 0,
  subscriptionsOfSocket: 0,
}

/** What a count modulo 2³² has gained; a smaller one began again at 0. */
const gainOf = (count: number, before: number): number => {
  const gain = (count - before) >>> 0
  return gain < 2 ** 31 ? gain : count
}

const useOf = (found: Utilisation, perSecond: number): readonly number[] => {
  const { requestsInFlight, sockets, subscriptionsOfSocket } = found
  return [perSecond, requestsInFlight, sockets, subscriptionsOfSocket]
}

/** Measures accesses by the counts of the limit table, which edges keep in any case. */
export class RateSampler {
  readonly #table: LimitTable
  /** Of this quarter-hour, and earlier ones that were not taken. */
  readonly #peaks = new Map<string, Peak>()
  readonly #windowLength: number
  readonly #now: () => number
  /** Milliseconds of a clock that nobody sets. */
  readonly #elapsed: () => number
  #last: ReadonlyMap<bigint, Last> | undefined
  #sampledMs = 0

  constructor(
    table: LimitTable,
    parts: {
      /** Of each of them one sample is kept. */
      readonly windowSeconds: number
      readonly now: () => number
      readonly elapsed: () => number
    },
  ) {
    this.#windowLength = parts.windowSeconds
    this.#table = table
    this.#now = parts.now
    this.#elapsed = parts.elapsed
  }

  /** Takes one sample; to be called each second. */
  sample(): void {
    const atMs = this.#elapsed()
    const seconds = (atMs - this.#sampledMs) / 1_000
    if (this.#last !== undefined && seconds * 1_000 < SAMPLE_MS_MIN) return
    const found = new Map<bigint, Last>()
    for (const { row, key, charged, utilisation } of this.#table.rows()) {
      const gain = gainOf(charged, this.#before(key, row, charged))
      const perSecond = Math.round((gain / seconds) * 10) / 10
      const window = this.#last?.get(key)?.window ?? new Window(this.#windowLength)
      window.add(useOf(utilisation, perSecond))
      found.set(key, { row, charged, perSecond, window })
      if (perSecond > 0) this.#addPeak(key, perSecond)
    }
    this.#last = found
    this.#sampledMs = atMs
  }

  ratesOf(accessId: string): AccessRates {
    const key = keyOfAccess(accessId)
    const last = this.#last?.get(key)
    return {
      requestsLastSecond: last?.perSecond ?? 0,
      means: last?.window.means() ?? NO_MEANS,
    }
  }

  /** The peaks that have risen since the last call. */
  takePeaks(): readonly PeakRow[] {
    const rows: PeakRow[] = []
    const quarter = Math.floor(this.#now() / QUARTER_MS)
    for (const [name, peak] of this.#peaks) {
      if (!peak.isRecorded) rows.push([peak.key, peak.quarter, peak.perSecond, peak.atMs])
      peak.isRecorded = true
      if (peak.quarter < quarter) this.#peaks.delete(name)
    }
    return rows
  }

  #addPeak(key: bigint, perSecond: number): void {
    const nowMs = this.#now()
    const quarter = Math.floor(nowMs / QUARTER_MS)
    const name = `${key} ${quarter}`
    const peak = this.#peaks.get(name) ?? {
      key: String(key),
      quarter,
      perSecond: 0,
      atMs: 0,
      isRecorded: true,
    }
    if (perSecond > peak.perSecond)
      Object.assign(peak, { perSecond, atMs: nowMs, isRecorded: false })
    this.#peaks.set(name, peak)
  }

  #before(key: bigint, row: number, charged: number): number {
    // What the rows have at the first sample was counted before this process began.
    if (this.#last === undefined) return charged
    const last = this.#last.get(key)
    return last?.row === row ? last.charged : 0
  }
}
