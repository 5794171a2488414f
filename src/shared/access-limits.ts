import { type Declaration, defaultsOf } from './options/declaration.js'

/**
 * Limits of an access, over all edges of the machine, with the defaults that a product gives to
 * each of its accesses. The only list of them.
 */
export const options = {
  requestsPerSecondMax: {
    default: 100,
    unit: 'count',
    why: 'Sustained requests per second. Each call of a batch counts as a request.',
  },
  requestsBurstMax: {
    default: 200,
    unit: 'count',
    why: "Requests admitted at once after a pause: two seconds' worth.",
  },
  requestsInFlightMax: {
    default: 64,
    unit: 'count',
    why: 'Requests in flight at once: scans and large replies count until they end.',
  },
  socketsMax: { default: 32, unit: 'count', why: 'WebSocket connections at once.' },
  subscriptionsPerSocketMax: {
    default: 1_000,
    unit: 'count',
    why: 'Subscriptions of one WebSocket connection.',
  },
} satisfies Declaration

export const defaults = defaultsOf(options)

/** Name of a limit, as in the configuration, in the API and in error replies. */
export type LimitName = keyof typeof defaults

/** Limits of one access. */
export type Limits = Readonly<Record<LimitName, number>>

/** Every limit. */
export const LIMIT_NAMES = Object.keys(defaults) as readonly LimitName[]

/** An object with one value for each limit. */
export const mapLimits = <T>(toValue: (name: LimitName) => T): Record<LimitName, T> =>
  // Every name has an entry, as the type states.
  Object.fromEntries(LIMIT_NAMES.map(name => [name, toValue(name)])) as Record<LimitName, T>
