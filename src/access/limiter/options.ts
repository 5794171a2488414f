/** Bounds of the limit table of one machine. */
export type Options = Readonly<typeof defaults>

export const defaults = {
  /**
   * Accesses in use at once on this machine. Each takes 72 bytes, and 16 more for each edge.
   * A further one replaces an idle one; while none is idle, it is refused with 503.
   */
  accessesMax: 4_000,
}
