/** Bounds of what an indexer says of itself. */
export type Options = Readonly<typeof defaults>

export const defaults = {
  /** How often each indexer writes its status: `slotline status` shows what is this old. */
  writeMs: 1_000,
  /**
   * A status that is older is of an indexer that does not run, or hangs. Five writes were missed.
   */
  staleMs: 5_000,
}
