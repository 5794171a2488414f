import * as addon from '#native'
import { callNative } from '../errors.js'
import type { LimitedAccess } from '../access/limits.js'

/** The point reads of one open store, for `DirectReads`. */
export type PointReadLane = addon.PointReadLane
/** What was decided when a request with a token was admitted. */
export type Admission = addon.Admission

/** Point reads of one location that the compiled server answers before any JavaScript runs. */
export type DirectReads = {
  /**
   * Answers requests of an app of the compiled server. `typeLines` is the value of the reply's
   * Content-Type, with the header lines after it.
   */
  mount(app: number, typeLines: string, bodyBytesMax: number): void
  /** Answers requests with this token as long as what was decided holds. */
  register(token: string, admission: Admission, access: LimitedAccess, lane: PointReadLane): void
  /** What was answered since the last call: for each fast method the cells of its histogram. */
  takeCounts(): readonly number[]
  /** Answers nothing any more. */
  close(): void
}

export type DirectReadsParts = {
  /** Cells of which the first are accessVersion and the end of the lease. */
  readonly version: Float64Array
  /** Upper bounds of the buckets of histograms, in seconds. */
  readonly bucketSeconds: readonly number[]
  /** Tokens that are known at a time. */
  readonly tokensMax: number
  /** Bytes of a reply that count as one request. */
  readonly replyBytes: number
}

export const openDirectReads = (parts: DirectReadsParts): DirectReads => {
  const { version, bucketSeconds, tokensMax, replyBytes } = parts
  const native = callNative(
    () => new addon.DirectReads(version, [...bucketSeconds], tokensMax, replyBytes),
  )
  return {
    mount: (app, typeLines, bodyBytesMax) => {
      callNative(() => native.mount(app, typeLines, bodyBytesMax))
    },
    register: (...known) => callNative(() => native.register(...known)),
    takeCounts: () => callNative(() => native.takeCounts()),
    close: () => callNative(() => native.close()),
  }
}
