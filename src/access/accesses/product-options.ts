/**
 * Limits that a product gives to each of its accesses. They apply over all edges of the machine.
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
