/** Bounds of an indexer's status file. */
export const defaults = {
  /** How often each indexer writes its status: the age of what `slotline status` shows. */
  writeMs: 1_000,
  /** An older status is of an indexer that is stopped or stuck. Five writes were missed. */
  staleMs: 5_000,
}
