import type { Config } from '../src/config/config.js'
import type { CheckedCall } from './data/record-exchanges.js'
import type { Exchange } from './load-generators/connection.js'
import type { Plan } from './options.js'
import type { Edge } from './service/deployment.js'
import type { Figure } from './report/report.js'
import type { ExpectedState } from './data/expected-state.js'

/** What every measurement gets. */
export type Context = {
  readonly plan: Plan
  readonly expected: ExpectedState
  /** The run's own folder; it is removed at the end. */
  readonly dir: string
  readonly config: Config
  /** The accounts store, which no process writes any more. */
  readonly storeDir: string
  readonly edge: Edge
  /** Of the peer that the edge forwards submissions to. */
  readonly upstreamPort: number
  readonly token: string
  /** getAccountInfo of accounts that are spread over the store. */
  readonly accountCalls: readonly CheckedCall[]
  /** The same as bytes, with the edge's replies, which have been checked. */
  readonly accountInfo: readonly Exchange[]
  readonly report: (figure: Figure) => void
  /** A line that is no figure. */
  readonly note: (text: string) => void
}
