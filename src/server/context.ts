import type { Log } from '../shared/log.js'
import type { Proxies } from './http/address.js'
import type { Backlog } from './http/unread-reply-detector.js'
import type { Failures } from './http/failures.js'
import type { Options } from './options.js'
import type { Pump } from './http/reply-scheduler.js'
import type { HeaderScan } from './http/header-scan.js'

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
