import type { AccessToEnsure } from '../control/accesses/ensure-accesses.js'

const PRODUCT = 'node-access'
const RENTAL_MS = 30 * 86_400_000

/**
 * The accesses of the sandbox's two people, granted at the first start: a pass with a token at
 * every location, and a rental without one.
 */
export const sandboxAccesses = (locations: readonly string[]): readonly AccessToEnsure[] => [
  {
    subject: 'sandbox',
    kind: 'pass',
    product: PRODUCT,
    locations,
    validForMs: null,
    hasTokens: true,
    // High enough for load tests.
    limits: {
      requestsPerSecondMax: 1_000_000,
      requestsBurstMax: 1_000_000,
      requestsInFlightMax: 10_000,
      socketsMax: 20_000,
      subscriptionsPerSocketMax: 10_000,
    },
  },
  {
    subject: 'renter',
    kind: 'rental',
    product: PRODUCT,
    locations,
    validForMs: RENTAL_MS,
    hasTokens: false,
    // Low enough to be reached manually.
    limits: {
      requestsPerSecondMax: 10,
      requestsBurstMax: 20,
      requestsInFlightMax: 4,
      socketsMax: 4,
      subscriptionsPerSocketMax: 10,
    },
  },
]
