import type { ChainOverride } from '../ingest/feed/sources.js'
import type { Metrics } from '../shared/metrics.js'
import type { Assignments, Command, DrainMode, Role, SendEvent } from '../supervision/messages.js'

/** A role that runs. */
export type Running = {
  /** Sent with the `ready` event. */
  readonly detail?: Readonly<Record<string, unknown>>
  readonly chain?: ChainOverride
  onCommand?(command: Command): void
  /** Ends the role's work; then the process exits with code 0. */
  drain(mode: DrainMode): Promise<void>
}

/** Starts a role in this process. */
export type Start<R extends Role> = (
  assignment: Assignments[R],
  send: SendEvent,
) => Promise<Running>

/** Answers `collectMetrics` with the metrics of this process. */
export const sendMetrics = async (metrics: Metrics, send: SendEvent, call: number): Promise<void> =>
  send({ kind: 'metrics', call, snapshot: await metrics.snapshot() })

/** Time for the last message to reach the supervisor before the process exits. */
const EXIT_DELAY_MS = 50

/** Reports why this process cannot continue, and ends it. */
export const exitWithFailure = (send: SendEvent, message: string): void => {
  send({ kind: 'failed', message })
  setTimeout(() => process.exit(1), EXIT_DELAY_MS)
}
