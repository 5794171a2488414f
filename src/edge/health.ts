/** States of an edge as `/health` reports them, from the best to the worst. */
export const HEALTHS = [
  'ok',
  'behind',
  'incomplete',
  'unknown',
  'lease-expired',
  'draining',
] as const

export type Health = (typeof HEALTHS)[number]
