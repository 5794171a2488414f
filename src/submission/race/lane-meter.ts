import type { Metrics } from '../../shared/metrics.js'
import type { LaneReport } from '../store/submission.js'

/** Counts what becomes of transactions on one lane. */
export type LaneMeter = (report: LaneReport) => void

export const createLaneMeter = (
  labels: { readonly network: string; readonly lane: string },
  metrics: Metrics,
): LaneMeter => {
  const seconds = metrics.histogram('laneSeconds', labels)
  return ({ outcome, leftOut, writtenAfterMs, answeredAfterMs }) => {
    const word = leftOut === undefined ? outcome : `left-out-${leftOut}`
    metrics.counter('laneTransactions', { ...labels, outcome: word }).add(1)
    if (outcome === 'accepted' && writtenAfterMs !== null && answeredAfterMs !== null)
      seconds.observe((answeredAfterMs - writtenAfterMs) / 1_000)
  }
}
