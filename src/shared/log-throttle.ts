/** What others may cause with each request is logged once in this time; metrics and the ledger have it all. */
export const LOG_PAUSE_MS = 1_000

/** Tells something at most once in so many milliseconds; what is left out is counted, and told with the next. */
export type Seldom = (tell: (leftOut: number) => void) => void

/** `now` is monotonic, in milliseconds. */
export const createSeldom = (pauseMs: number, now: () => number): Seldom => {
  let nextMs = -Infinity
  let leftOut = 0
  return tell => {
    const nowMs = now()
    if (nowMs < nextMs) {
      leftOut++
      return
    }
    nextMs = nowMs + pauseMs
    const count = leftOut
    leftOut = 0
    tell(count)
  }
}
