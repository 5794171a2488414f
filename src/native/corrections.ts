import type * as addon from '#native'
import { callNative } from './errors.js'

/** Result of a comparison of rows with the store. */
export type ComparedRows = {
  readonly equal: number
  /** Written, or removed, after the slot of the row. */
  readonly newer: number
  /** Different from the row: corrected with the next block, unless an earlier block explains it. */
  readonly different: number
  /** Different, but the queue of corrections is full. */
  readonly dropped: number
}

/** Access of a sweep to a store. */
export type Corrections = {
  /** Next stored addresses after one, or from the first, 32 bytes each; empty at the end. */
  storedKeys(
    after: Uint8Array | undefined,
    bounds: { readonly keysMax: number; readonly bytesMax: number },
  ): Uint8Array
  /** Compares packed rows. Differences are queued for the next block, at most `bytesMax` bytes. */
  compareRows(rows: Uint8Array, bytesMax: number): ComparedRows
  /** Since the store was opened. */
  correctionCounts(): { readonly waiting: number; readonly corrected: number }
}

/** Wraps a store's writer for the sweep. */
export const toCorrections = (native: addon.Indexer): Corrections => ({
  storedKeys: (after, { keysMax, bytesMax }) =>
    callNative(() => native.storedKeys(after, keysMax, bytesMax)),
  compareRows: (rows, bytesMax) => callNative(() => native.compareRows(rows, bytesMax)),
  correctionCounts: () => callNative(() => native.correctionCounts()),
})
