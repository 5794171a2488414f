import { performance } from 'node:perf_hooks'
import { setOrdinary, setRealtime, setSlice } from '../native/os.js'
import type { Log } from '../shared/log.js'

/** Interval between measurements of the loop's utilisation. */
const CHECK_MS = 100
/**
 * Above this utilisation the thread becomes ordinary; below the other one it becomes realtime
 * again.
 */
const BUSY_UTILISATION = 0.9
const CALM_UTILISATION = 0.75

export type LoopPriorityOptions = {
  /** Length of the thread's scheduler slices while it is ordinary; 0 is the system's default. */
  readonly sliceMicros: number
  /** Use the realtime scheduler. The edges must leave at least one core to other threads. */
  readonly isRealtime: boolean
}

/**
 * How the thread is scheduled: as a realtime thread, or why not. `busy`: until it has time to
 * spare; `not-permitted`: by the system; `not-wanted`: by the configuration.
 */
export type LoopPriorityState = 'realtime' | 'busy' | 'not-permitted' | 'not-wanted'

export type LoopPriority = {
  state(): LoopPriorityState
  /** Stops the measurements. */
  stop(): void
}

/** Calls `change`; logs and returns false if the system refuses it. */
const attempt = (change: () => void, log: Log): boolean => {
  try {
    change()
    return true
  } catch (error) {
    log.warn({ err: error }, 'the priority of the event loop cannot be changed')
    return false
  }
}

/**
 * Schedules the calling thread, an edge's event loop, before other threads: as a realtime thread
 * where the system allows it, else with short slices. A loop that is busy all the time becomes
 * ordinary: as a realtime thread it would keep the processor from the kernel threads that carry its
 * packets. `ps -eLo cls,comm` shows the current class.
 */
export const raiseLoopPriority = (
  { sliceMicros, isRealtime: wantsRealtime }: LoopPriorityOptions,
  log: Log,
): LoopPriority => {
  let isRealtime = false
  const becomeRealtime = (): void => {
    isRealtime = setRealtime()
  }
  const becomeOrdinary = (): void => {
    if (isRealtime) setOrdinary()
    isRealtime = false
    setSlice(sliceMicros)
  }

  const ordinary = (state: LoopPriorityState): LoopPriority => ({
    state: () => state,
    stop: () => {},
  })
  if (!attempt(becomeOrdinary, log)) return ordinary('not-permitted')
  if (!wantsRealtime) return ordinary('not-wanted')
  if (!attempt(becomeRealtime, log) || !isRealtime) return ordinary('not-permitted')
  let last = performance.eventLoopUtilization()
  const timer = setInterval(() => {
    const current = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(current, last)
    last = current
    let change: (() => void) | undefined
    if (isRealtime && utilization > BUSY_UTILISATION) change = becomeOrdinary
    else if (!isRealtime && utilization < CALM_UTILISATION) change = becomeRealtime
    if (change !== undefined && !attempt(change, log)) clearInterval(timer)
  }, CHECK_MS)
  timer.unref()
  return { state: () => (isRealtime ? 'realtime' : 'busy'), stop: () => clearInterval(timer) }
}
