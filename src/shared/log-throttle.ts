/**
 * Repeated log lines that clients can cause are written at most once in this time. Metrics count
 * every one.
 */
export const LOG_PAUSE_MS = 1_000

/**
 * Calls `write` at most once per pause. `suppressedCount` is the number of calls dropped since the
 * last write.
 */
export type LogThrottle = (write: (suppressedCount: number) => void) => void

/** `now` is monotonic, in milliseconds. */
export const createLogThrottle = (pauseMs: number, now: () => number): LogThrottle => {
  let nextMs = -Infinity
  let suppressedCount = 0
  return write => {
    const nowMs = now()
    if (nowMs < nextMs) {
      suppressedCount++
      return
    }
    nextMs = nowMs + pauseMs
    const count = suppressedCount
    suppressedCount = 0
    write(count)
  }
}
