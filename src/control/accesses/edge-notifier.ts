import { setTimeout as sleep } from 'node:timers/promises'
import { RpcError } from '../../shared/errors.js'

/**
 * How often the acknowledgements are read: edges acknowledge within one turn of their event loop.
 */
const POLL_MS = 1

/** What the notifier needs of its process. */
export type EdgeNotifierParts = {
  readonly shared: {
    accessVersion(): number
    raiseAccessVersion(): number
    /** Process ids of live edges that have not confirmed this version. */
    unconfirmedEdges(version: number): readonly number[]
  }
  /** An edge that has not acknowledged within this time is ended, unless it is only busy. */
  readonly confirmMs: number
  /** An edge that has neither acknowledged nor ended then is reported to the caller. */
  readonly endMs: number
  /** Makes the edges read accessVersion now; they also do so by themselves. */
  readonly announce: () => void
  /**
   * Ends the edge with this process id if it is stopped or stuck: then it may still answer admitted
   * requests.
   */
  readonly endEdge: (pid: number) => void
  readonly now: () => number
}

/** Notifies the edges of this machine, whatever their locations are. */
export type MachineEdges = {
  announce(): Promise<void>
  settle(): Promise<void>
  awaitAcknowledged(): Promise<void>
  /** Resolves when every edge has acknowledged what was announced before, or was ended. */
  confirmed(): Promise<void>
}

/** Notifies the edges of this machine through the access version in shared memory. */
export const createEdgeNotifier = (parts: EdgeNotifierParts): MachineEdges => {
  const { shared, confirmMs, endMs, announce, endEdge, now } = parts

  const raise = (): number => {
    const version = shared.raiseAccessVersion()
    announce()
    return version
  }

  /** The process ids of edges that have not acknowledged the version within the time limit. */
  const wait = async (version: number, limitMs: number): Promise<readonly number[]> => {
    const untilMs = now() + limitMs
    for (;;) {
      const missing = shared.unconfirmedEdges(version)
      if (missing.length === 0 || now() >= untilMs) return missing
      await sleep(POLL_MS)
    }
  }

  const confirm = async (version: number): Promise<void> => {
    const missing = await wait(version, confirmMs)
    if (missing.length === 0) return
    for (const pid of missing) endEdge(pid)
    if ((await wait(version, endMs)).length > 0) throw new RpcError('notConfirmed')
  }

  return {
    announce: () => {
      raise()
      return Promise.resolve()
    },
    // One process writes the store and reads it.
    settle: () => Promise.resolve(),
    awaitAcknowledged: () => confirm(raise()),
    confirmed: () => confirm(shared.accessVersion()),
  }
}
