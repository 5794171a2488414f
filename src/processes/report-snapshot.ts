import type { Metrics } from '../shared/metrics.js'
import type { Report } from './messages.js'

/** Answers the supervisor's question for the metrics of this process. */
export const reportSnapshot = async (
  metrics: Metrics,
  report: (report: Report) => void,
  call: number,
): Promise<void> => report({ kind: 'snapshot', call, snapshot: await metrics.snapshot() })
