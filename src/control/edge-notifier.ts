import { setTimeout as sleep } from 'node:timers/promises'
import type { EdgeNotifier } from '../access/service.js'
import { RpcError } from '../shared/errors.js'
import type { SharedMemory } from '../processes/shared-memory.js'

/**
 * How often control looks whether the edges have confirmed: they do so within a turn of their event
 * loop.
 */
const LOOK_MS = 1

/** What control asks of the supervisor. */
export type EdgeNotifierParts = {
  readonly shared: SharedMemory
  /** An edge that has not confirmed by then is ended. */
  readonly confirmMs: number
  /** An edge that has not ended by then is reported to the caller. */
  readonly endMs: number
  /** Tells the edges to look at accessVersion now; they also do so by themselves. */
  readonly announce: () => void
  /**
   * Ends the edge with this process id: it is stopped or stuck, and may yet answer what it has let
   * in before.
   */
  readonly endEdge: (pid: number) => void
  readonly now: () => number
}

/** Makes what control has stored count at every edge of the machine. */
export const createEdgeNotifier = (parts: EdgeNotifierParts): EdgeNotifier => {
  const { shared, confirmMs, endMs, announce, endEdge, now } = parts

  const raise = (): number => {
    const version = shared.raiseAccessVersion()
    announce()
    return version
  }

  /** Edges that have not confirmed the version when the time is over. */
  const wait = async (version: number, limitMs: number): Promise<readonly number[]> => {
    const untilMs = now() + limitMs
    for (;;) {
      const missing = shared.unconfirmedEdges(version)
      if (missing.length === 0 || now() >= untilMs) return missing
      await sleep(LOOK_MS)
    }
  }

  return {
    announce: () => void raise(),
    awaitAcknowledged: async () => {
      const version = raise()
      const missing = await wait(version, confirmMs)
      if (missing.length === 0) return
      for (const pid of missing) endEdge(pid)
      if ((await wait(version, endMs)).length > 0) throw new RpcError('notConfirmed')
    },
  }
}
