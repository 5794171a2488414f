import { LANE_ANSWERS } from '../../shared/submission-states.js'
import { LANE_STATES, type LaneStatus } from '../../storage/sender-status.js'
import type { Metrics } from '../../shared/metrics.js'
import type { Lane } from '../lanes/lane.js'
import type { LaneReport } from '../store/submission.js'

export type LaneWatchParts = {
  readonly network: string
  readonly id: string
  readonly lane: Pick<Lane, 'isReachable' | 'inFlight'>
  readonly requestsPerSecondMax: number
  readonly metrics: Metrics
  /** Unix milliseconds. */
  readonly unixMs: () => number
}

/** Whole seconds of which the rate is an average. */
const RATE_SECONDS = 10

/** Counts by second, of the last ones. */
class RecentCounts {
  private readonly counts = new Array<number>(RATE_SECONDS + 1).fill(0)
  private second = 0

  add(ms: number): void {
    this.moveTo(ms)
    const at = this.second % this.counts.length
    this.counts[at] = (this.counts[at] ?? 0) + 1
  }

  /** Of the whole seconds before this one. */
  perSecond(ms: number): number {
    this.moveTo(ms)
    const current = this.counts[this.second % this.counts.length] ?? 0
    return (this.counts.reduce((sum, count) => sum + count, 0) - current) / RATE_SECONDS
  }

  private moveTo(ms: number): void {
    const second = Math.floor(ms / 1_000)
    const passed = second - this.second
    // A clock that was set back begins anew, too.
    if (passed < 0 || passed >= this.counts.length) this.counts.fill(0)
    else
      for (let one = 1; one <= passed; one++)
        this.counts[(this.second + one) % this.counts.length] = 0
    this.second = second
  }
}

/** Follows how one lane is, by what its transactions come to and by its connections. */
export class LaneWatch {
  private readonly parts: LaneWatchParts
  private isThrottled = false
  private state: LaneStatus['state'] = 'down'
  private last: LaneStatus['last'] = null
  private readonly recent = new RecentCounts()
  private sinceMs: number

  constructor(parts: LaneWatchParts) {
    const { id: lane, metrics, network, unixMs } = parts
    this.parts = parts
    this.sinceMs = unixMs()
    const gauges = LANE_STATES.map(state => {
      const gauge = metrics.gauge('laneState', { network, lane, state })
      return { state, gauge }
    })
    const since = metrics.gauge('laneStateSeconds', { network, lane })
    metrics.beforeSnapshot(() => {
      const { sinceMs, state: current } = this.status()
      for (const { gauge, state } of gauges) gauge.set(state === current ? 1 : 0)
      since.set(Math.max(0, (unixMs() - sinceMs) / 1_000))
    })
  }

  /** Learns what a transaction came to. */
  onEnd({ outcome: word, status }: LaneReport): void {
    const outcome = LANE_ANSWERS.find(one => one === word)
    if (outcome === undefined) return
    const atMs = this.parts.unixMs()
    this.last = { outcome, atMs }
    this.recent.add(atMs)
    // Without a status it is this service that has too many in flight.
    if (outcome === 'full') this.isThrottled ||= status !== undefined
    else if (outcome === 'accepted' || outcome === 'refused') this.isThrottled = false
  }

  /** To be called each second, so that it is known since when it is so. */
  status(): LaneStatus {
    const { id: lane, lane: way, network, requestsPerSecondMax, unixMs } = this.parts
    const other = this.isThrottled ? 'throttled' : 'up'
    const state = way.isReachable() ? other : 'down'
    const nowMs = unixMs()
    if (state !== this.state) this.sinceMs = nowMs
    this.state = state
    return {
      ...{ network, lane, state, sinceMs: this.sinceMs },
      perSecond: this.recent.perSecond(nowMs),
      perSecondMax: requestsPerSecondMax,
      inFlight: way.inFlight(),
      last: this.last,
    }
  }
}
