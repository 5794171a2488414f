/** Bounds of the access store. All processes must open it with the same values. */
export type Options = Readonly<typeof defaults>

export const defaults = {
  /**
   * Address space of the map, fixed so that no reader has to remap it. Enough for over a million
   * tokens.
   */
  mapBytes: 1024 ** 3,
  /**
   * LMDB reader slots over all processes: one for each edge and control, with spare ones for tools
   * and ended processes.
   */
  readersMax: 256,
}
