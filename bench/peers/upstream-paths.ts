/** What each path answers; a bundle's id depends on the bundle. */
export const PATHS = {
  transaction: '/send',
  bundle: '/sendBundle',
  batch: '/sendBatch',
  engine: '/api/v1/bundles',
} as const
