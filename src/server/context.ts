import type { Log } from '../shared/log.js'
import type { Proxies } from './http/address.js'
import type { BodyPool } from './http/body-pool.js'
import type { ByteBudget } from '../shared/byte-budget.js'
import type { Failures } from './http/failures.js'
import type { ReplyScheduler } from './http/reply-scheduler.js'
import type { Options } from './options.js'

/** State shared by all requests of one server. */
export type ServerContext = {
  readonly options: Options
  readonly log: Log
  /** Undefined where no proxy is trusted: then forwarded addresses are not read at all. */
  readonly proxies: Proxies | undefined
  readonly failures: Failures
  readonly scheduler: ReplyScheduler
  /** Open HTTP connections, without those that became WebSockets. */
  connections: number
  requestsCount: number
  requestsInFlight: number
  /** Of request bodies, and of large replies that are copied. */
  readonly bodies: ByteBudget
  readonly bodyPool: BodyPool
  readonly replies: ByteBudget
  abortedCount: number
  isDraining: boolean
}
