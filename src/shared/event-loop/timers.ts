/** Schedules a call and returns a function that cancels it. */
export type SetTimer = (run: () => void, waitMs: number) => () => void

/** Time, and what runs later. */
export type Timers = {
  /** Monotonic milliseconds. */
  readonly now: () => number
  readonly setTimer: SetTimer
}

export const SYSTEM_TIMERS: Timers = {
  now: () => performance.now(),
  setTimer: (run, waitMs) => {
    const timer = setTimeout(run, waitMs)
    return () => clearTimeout(timer)
  },
}
