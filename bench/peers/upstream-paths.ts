/** What each path answers; a bundle's id depends on the bundle. */
export const PATHS = {
  transaction: '/send',
  bundle: '/sendBundle',
  batch: '/sendBatch',
  /** Answers the bundle's id. */
  engine: '/api/v1/bundles',
  /** Answers the members' signatures. */
  iris: '/iris',
} as const
