import type { Log } from '../shared/log.js'
import type { Child } from './child.js'

/** Bounds of the replacement of one process. */
type Times = {
  /** Longest time until the successor is ready. */
  readonly startMs: number
  /** Longest time until the predecessor has ended; then it is killed. */
  readonly drainMs: number
  /** Aborted where the service stops. */
  readonly signal: AbortSignal
}

/**
 * Replaces a process that its successor can run beside: the successor is ready before the
 * predecessor drains. Rejects if the successor does not become ready; the predecessor continues.
 */
export const replaceBeside = async (
  old: Child,
  {
    start,
    retire,
    remove,
    log,
    ...times
  }: Times & {
    readonly start: () => Child
    /** The predecessor drains from now on. */
    readonly retire: (old: Child) => void
    readonly remove: (ended: Child) => void
    readonly log: Log
  },
): Promise<Child> => {
  const successor = start()
  try {
    await successor.untilReady(times.startMs, times.signal)
  } catch (error) {
    await successor.stop(0)
    remove(successor)
    throw error
  }
  retire(old)
  const { name, pid } = old
  const hasDrained = await old.stop(times.drainMs, { isReplaced: true })
  if (!hasDrained)
    log.warn({ process: name, childPid: pid }, 'a replaced process had not drained in time')
  remove(old)
  return successor
}

/**
 * Replaces a process that writes what its successor writes: it ends before. Where the successor
 * does not become ready, one like the predecessor is started, and the call rejects.
 */
export const replaceAfter = async (
  old: Child,
  {
    start,
    restart,
    remove,
    ...times
  }: Times & {
    readonly start: () => Child
    readonly restart: () => Child
    readonly remove: (ended: Child) => void
  },
): Promise<Child> => {
  await old.stop(times.drainMs, { isReplaced: true })
  remove(old)
  times.signal.throwIfAborted()
  const successor = start()
  try {
    await successor.untilReady(times.startMs, times.signal)
    return successor
  } catch (error) {
    await successor.stop(0)
    remove(successor)
    if (!times.signal.aborted) await untilRestored(restart(), times)
    throw error
  }
}

/** It is started again as any child where it fails. */
const untilRestored = async (child: Child, { startMs, signal }: Times): Promise<void> => {
  try {
    await child.untilReady(startMs, signal)
  } catch {
    // The log has the reason of each end.
  }
}

/**
 * Replaces processes one at a time. Where one cannot be replaced, those that were are restored in
 * the opposite order, and the call rejects.
 */
export const replaceInTurn = async (
  children: readonly Child[],
  {
    replace,
    restore,
    signal,
    log,
  }: {
    readonly replace: (child: Child) => Promise<Child>
    readonly restore: (child: Child) => Promise<Child>
    /** Aborted where the service stops: then nothing is restored. */
    readonly signal: AbortSignal
    readonly log: Log
  },
): Promise<void> => {
  const successors: Child[] = []
  try {
    for (const child of children) successors.push(await replace(child))
  } catch (error) {
    if (signal.aborted) throw error
    for (const successor of successors.toReversed())
      await restore(successor).catch((err: unknown) =>
        log.error({ process: successor.name, err }, 'a replaced process cannot be restored'),
      )
    throw error
  }
}
