import { performance } from 'node:perf_hooks'
import type { Config } from '../config/config.js'
import type { Log } from '../shared/log.js'
import { setOrdinary, setRealtime, setSlice } from '../native/os.js'
import { leavesCore } from '../processes/edge-count.js'

/** How often it is looked at how busy the loop was. */
const LOOK_MS = 100
/** Busy for more than this share of the time it is ordinary, for less than the other one realtime again. */
const BUSY_SHARE = 0.9
const CALM_SHARE = 0.75

/**
 * Has this thread, an edge's event loop, come before the others while it has time to spare: as a realtime thread, or
 * else by short turns of the processor. A loop that never rests must not be realtime: what it serves waits in its own
 * queue, and it would keep from the processor what carries its packets. `ps -eLo cls,comm` shows which it is.
 *
 * Returns what ends the looking.
 */
export const comeFirst = (config: Config, log: Log): (() => void) => {
  const { edgeRealtime, edgeSliceMicros } = config.processes
  let isRealtime = false
  const beRealtime = (): void => {
    isRealtime = setRealtime()
  }
  const beOrdinary = (): void => {
    if (isRealtime) setOrdinary()
    isRealtime = false
    setSlice(edgeSliceMicros)
  }
  const attempt = (change: () => void): boolean => {
    try {
      change()
      return true
    } catch (error) {
      log.warn({ err: error }, 'the event loop keeps the turns of the processor that it has')
      return false
    }
  }

  if (!attempt(beOrdinary)) return () => {}
  // Where edges take every core, nothing would be left for the indexer.
  if (!edgeRealtime || !leavesCore(config)) return () => {}
  if (!attempt(beRealtime) || !isRealtime) return () => {}
  let last = performance.eventLoopUtilization()
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, last)
    last = now
    const change =
      isRealtime && utilization > BUSY_SHARE
        ? beOrdinary
        : !isRealtime && utilization < CALM_SHARE
          ? beRealtime
          : undefined
    // What cannot be changed once is left as it is.
    if (change !== undefined && !attempt(change)) clearInterval(timer)
  }, LOOK_MS)
  timer.unref()
  return () => clearInterval(timer)
}
