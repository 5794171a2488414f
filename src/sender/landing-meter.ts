import type { Metrics } from '../shared/metrics.js'
import type { StateChange } from '../submission/store/changes.js'
import type { Submission } from '../submission/store/submission.js'

/** States in which nothing more is expected of a transaction. */
const ENDS: ReadonlySet<StateChange['state']> = new Set([
  'final',
  'failed',
  'expired',
  'replaced',
  'unseen',
])

/** Counts what the transactions of submissions have come to, and after how long. */
export const createLandingMeter =
  (metrics: Metrics) =>
  ({ network, route }: Submission, changes: readonly StateChange[]): void => {
    for (const { delayMs, delaySlots, signature, state } of changes) {
      if (signature === undefined) continue
      if (ENDS.has(state)) metrics.counter('transactionEnds', { network, route, state }).add(1)
      if (state !== 'in-block') continue
      if (delayMs !== null && delayMs !== undefined)
        metrics.histogram('landingSeconds', { network, route }).observe(delayMs / 1_000)
      if (delaySlots !== null && delaySlots !== undefined)
        metrics.histogram('landingSlots', { network, route }).observe(delaySlots)
    }
  }
