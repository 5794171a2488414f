import type { LimitTable } from '../../access/limiter/limit-table.js'
import type { AccessUse } from './machine-use.js'

/** An access that was used here. */
type Used = {
  /** Charged since the series began, and before it was last left out. */
  series: number
  requests: number
  /** Not yet in `requests`. */
  pending: number
  usedMs: number
}

/**
 * How long an access without requests is reported: others then know the end of its series, and a
 * new request does not begin another one each time.
 */
const REPORTED_MS = 60_000

/** What accesses have in use on this machine, as its limit table counts it. */
export class OwnUse {
  private readonly table: LimitTable
  private readonly accessesMax: number
  private readonly used = new Map<bigint, Used>()
  private seriesCount = 0

  /** `accessesMax`: of more accesses those are reported that were charged the most. */
  constructor(table: LimitTable, accessesMax: number) {
    this.table = table
    this.accessesMax = accessesMax
  }

  /** The accesses in use, to be reported once. */
  take(nowMs: number): readonly AccessUse[] {
    const found = this.table.rows().map(({ key, utilisation }) => {
      const used = this.usedOf(key, nowMs)
      const { requestsInFlight, sockets } = utilisation
      used.pending += this.table.takeCharged(key)
      if (used.pending + requestsInFlight + sockets > 0) used.usedMs = nowMs
      return { key, used, requestsInFlight, sockets }
    })
    const reported = found
      .filter(({ used }) => nowMs - used.usedMs < REPORTED_MS)
      .toSorted((one, other) => other.used.pending - one.used.pending)
      .slice(0, this.accessesMax)
    const uses = reported.map(({ key, used, requestsInFlight, sockets }) => {
      if (used.series === 0) used.series = ++this.seriesCount
      used.requests += used.pending
      used.pending = 0
      const { series, requests } = used
      return { key, series, requests, requestsInFlight, sockets }
    })
    this.endOthers(new Set(reported.map(({ key }) => key)), nowMs)
    return uses
  }

  /** What is not reported begins a new series; what is not used any more is not kept. */
  private endOthers(reported: ReadonlySet<bigint>, nowMs: number): void {
    for (const [key, used] of this.used) {
      if (reported.has(key)) continue
      if (nowMs - used.usedMs >= REPORTED_MS) this.used.delete(key)
      else Object.assign(used, { series: 0, requests: 0 })
    }
  }

  private usedOf(key: bigint, nowMs: number): Used {
    const known = this.used.get(key)
    if (known !== undefined) return known
    const used = { series: 0, requests: 0, pending: 0, usedMs: nowMs - REPORTED_MS }
    this.used.set(key, used)
    return used
  }
}
