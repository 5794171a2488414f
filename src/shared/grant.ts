import type { Limits } from './access-limits.js'

/** What a location token gives access to. Contains no secret: it may be logged. */
export type Grant = {
  readonly accessId: string
  /** Public name of the token, for logs and metrics; these never contain the token itself. */
  readonly tokenId: string
  /** Selects the accounts store, the feed and the upstreams. */
  readonly network: string
  readonly location: string
  readonly limits: Limits
  /** Unix milliseconds, inclusive. */
  readonly validFromMs: number
  /** Unix milliseconds, exclusive: the end of the access. */
  readonly validUntilMs: number
  /** The one IPv4 address that may use the token; `undefined` where any may. */
  readonly address: string | undefined
  /** Until when parameters of failed calls are kept, in Unix milliseconds; absent: they are not. */
  readonly paramsUntilMs?: number | undefined
}
