import { LANE_STATES, type LaneStatus } from '../../storage/sender-status.js'
import type { Metrics } from '../../shared/metrics.js'
import type { Lane } from '../lanes/lane.js'
import type { LaneReport } from '../store/submission.js'

export type LaneWatchParts = {
  readonly network: string
  readonly id: string
  readonly lane: Pick<Lane, 'isReachable'>
  readonly metrics: Metrics
  /** Unix milliseconds. */
  readonly unixMs: () => number
}

/** Follows how one lane is, by what its transactions come to and by its connections. */
export class LaneWatch {
  private readonly parts: LaneWatchParts
  private isThrottled = false
  private state: LaneStatus['state'] = 'down'
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
  onEnd({ outcome, status }: LaneReport): void {
    // Without a status it is this service that has too many in flight.
    if (outcome === 'full') this.isThrottled ||= status !== undefined
    else if (outcome === 'accepted' || outcome === 'refused') this.isThrottled = false
  }

  /** To be called each second, so that it is known since when it is so. */
  status(): LaneStatus {
    const { id: lane, lane: way, network, unixMs } = this.parts
    const other = this.isThrottled ? 'throttled' : 'up'
    const state = way.isReachable() ? other : 'down'
    if (state !== this.state) this.sinceMs = unixMs()
    this.state = state
    return { network, lane, state, sinceMs: this.sinceMs }
  }
}
