/** A process that ended unexpectedly, and is started again. */
export type EndedProcess = {
  readonly process: string
  readonly role: string
  /** How it ended. */
  readonly reason: string
  readonly atMs: number
}
