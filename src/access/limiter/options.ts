import { type Declaration, defaultsOf } from '../../shared/options/declaration.js'

/** Bounds of the limit table of one machine. */
export type Options = Readonly<typeof defaults>

export const options = {
  accessesMax: {
    default: 4_000,
    unit: 'count',
    why: 'Accesses in use at once on this machine. Each takes 72 bytes, and 16 more for each edge. A further one replaces an idle one; while none is idle, it is refused with 503.',
  },
} satisfies Declaration

export const defaults = defaultsOf(options)
