import type { Limits } from '../../../shared/access-limits.js'
import type { RowOf } from '../../../usage/queries.js'
import type { Missing } from '../answers.js'

/** What was done with a method of a network at a location. */
export type MethodRow = RowOf<'methods'> & { readonly network: string; readonly location: string }

/** What was counted of an access since Monday, 00:00 UTC, and what it uses now. */
export type AccessFigures = {
  readonly methods: readonly MethodRow[]
  readonly submissions: readonly RowOf<'landing'>[]
  /** Requests over each limit. */
  readonly overLimit: Limits
  readonly use: Pick<
    RowOf<'use'>,
    | 'requestsInFlight'
    | 'requestsLastSecond'
    | 'sockets'
    | 'subscriptions'
    | 'subscriptionsOfSocket'
  >
  readonly limits: Limits
} & Missing

/** The figures of an access, of all machines of its locations that answer. */
export type FiguresOf = (access: {
  readonly accessId: string
  readonly networks: readonly string[]
  readonly locations: readonly string[]
  readonly limits: Limits
}) => Promise<AccessFigures>
