import type { Metrics } from '../shared/metrics.js'
import type { SendEvent } from './messages.js'

/** Answers `collectMetrics` with the metrics of this process. */
export const sendMetrics = async (metrics: Metrics, send: SendEvent, call: number): Promise<void> =>
  send({ kind: 'metrics', call, snapshot: await metrics.snapshot() })
