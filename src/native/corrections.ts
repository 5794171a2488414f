import type * as addon from '#native'
import { callNative } from './errors.js'

/** What a comparison of rows with the store said of them. */
export type ComparedRows = {
  readonly equal: number
  /** Written, or removed, after the slot that the row is of. */
  readonly newer: number
  /** Other than the row: corrected with the next block, unless a block before it explains it. */
  readonly different: number
  /** Different, but too many corrections wait. */
  readonly dropped: number
}

/** How a sweep looks at a store, and mends it. */
export type Corrections = {
  /** The next stored addresses after one, or from the first on, 32 bytes each; none is the end. */
  storedKeys(
    after: Uint8Array | undefined,
    bounds: { readonly keysMax: number; readonly bytesMax: number },
  ): Uint8Array
  /** Compares packed rows. What differs waits for the next block, at most `bytesMax` of it. */
  compareRows(rows: Uint8Array, bytesMax: number): ComparedRows
  /** Since the store was opened. */
  correctionCounts(): { readonly waiting: number; readonly corrected: number }
}

/** The sweep's view of a store's writer. */
export const toCorrections = (native: addon.Indexer): Corrections => ({
  storedKeys: (after, { keysMax, bytesMax }) =>
    callNative(() => native.storedKeys(after, keysMax, bytesMax)),
  compareRows: (rows, bytesMax) => callNative(() => native.compareRows(rows, bytesMax)),
  correctionCounts: () => callNative(() => native.correctionCounts()),
})
