/**
 * Limits of an access, over all edges of the machine, with the defaults that a product gives to
 * each of its accesses. The only list of them.
 */
export const defaults = {
  /** Sustained requests per second. Each call of a batch counts as a request. */
  requestsPerSecondMax: 100,
  /** Requests admitted at once after a pause: two seconds' worth. */
  requestsBurstMax: 200,
  /** Requests in flight at once: scans and large replies count until they end. */
  requestsInFlightMax: 64,
  /** WebSocket connections at once. */
  socketsMax: 32,
  /** Subscriptions of one WebSocket connection. */
  subscriptionsPerSocketMax: 1_000,
}

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
