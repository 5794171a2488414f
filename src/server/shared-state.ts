import type { Log } from '../shared/log.js'
import type { Proxies } from './address.js'
import type { Backlog } from './backlog.js'
import type { Failures } from './failures.js'
import type { Options } from './options.js'
import type { Pump } from './pump.js'
import type { HeaderScan } from './header-scan.js'

/** What the requests of one server share. */
export type Shared = {
  readonly options: Options
  readonly log: Log
  readonly scan: HeaderScan
  /** Undefined where no proxy is trusted: then nobody's word on an address is even looked at. */
  readonly proxies: Proxies | undefined
  readonly failures: Failures
  readonly pump: Pump
  readonly backlog: Backlog
  /** HTTP connections: one that became a WebSocket counts no more. */
  connections: number
  requestsCount: number
  requestsInFlight: number
  bodyBytesInFlight: number
  replyBytesInFlight: number
  abortedCount: number
  isDraining: boolean
}
