/** Bounds of the status files of indexers and of the follower. */
export const defaults = {
  /** How often each process writes its status: the age of what `slotline status` shows. */
  writeMs: 1_000,
  /** An older status is of a process that is stopped or stuck. Five writes were missed. */
  staleMs: 5_000,
}
