/**
 * Limits that a product gives to each access of it. They are held over all edges of the machine.
 */
export type Options = Readonly<typeof defaults>

export const defaults = {
  /** Requests a second, in the long run. Members of a batch count one by one. */
  requestsPerSecondMax: 100,
  /** Requests that may come at once after a pause: two seconds' worth. */
  requestsBurstMax: 200,
  /**
   * Requests being answered at once: scans and large replies hold a slot for as long as they run.
   */
  requestsInFlightMax: 64,
  /** WebSocket connections at once. */
  socketsMax: 32,
  /** Subscriptions of one WebSocket connection. */
  subscriptionsPerSocketMax: 1_000,
}
