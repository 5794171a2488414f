import { loadFunctions } from './functions.js'

/** What was measured of the turns of an event loop since the last time. */
export type Turns = {
  /** By bucket; then those longer than the last bound; then the sum of all in seconds. */
  readonly cells: readonly number[]
  readonly longestSeconds: number
  /** The most processor time of one, to 1 ms. */
  readonly longestCpuSeconds: number
}

/**
 * Measures the turns of this thread's event loop: the time from one wait for events to the next.
 * `upperSeconds` are ascending upper bounds of buckets. Returns what takes the values.
 */
export const measureTurns = (upperSeconds: Float64Array): (() => Turns) => {
  const functions = loadFunctions()
  functions.measureTurns(upperSeconds)
  return () => {
    const taken = functions.takeTurns()
    const [longestSeconds = 0, longestCpuSeconds = 0] = taken.slice(-2)
    return { cells: taken.slice(0, -2), longestSeconds, longestCpuSeconds }
  }
}
