/** The parts that a request passes, each set with one more than the one before. */
export const LAYERS = [
  'bare',
  'bare + native reads',
  'server',
  'server + access',
  'all but rpc',
] as const
export type Layer = (typeof LAYERS)[number]
