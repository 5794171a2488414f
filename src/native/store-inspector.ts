import * as addon from '#native'
import { callNative } from './errors.js'
import type { StoreOptions, StoreStats, Tip } from './store.js'
import { toStoreCopy, type StoreCopy } from './store-copy.js'

/** Bounds of one verification. */
export type VerifyBounds = {
  readonly sliceRowsMax: number
  readonly sliceMs: number
  readonly programRowsMax: number
  readonly differencesMax: number
}

/** Result of one slice. */
export type VerifySlice = {
  readonly table: string
  readonly rows: number
  readonly isLast: boolean
}

/** A store that a command verifies or copies while its indexer runs. */
export type StoreInspector = StoreCopy & {
  tip(): Tip | undefined
  stats(): StoreStats
  /** Begins a verification; returns the approximate number of rows. */
  beginVerify(bounds: VerifyBounds): number
  /** Verifies the next rows in one short read transaction. */
  verifySlice(): VerifySlice
  /** Differences so far, as sentences. */
  differences(): readonly string[]
  /** Number of programs with too many accounts to count; a sum over all programs covers them. */
  uncountedPrograms(): number
  close(): void
}

/** Opens the store of an indexer for reading. A process may open each store once. */
export const openStoreInspector = (dir: string, store: StoreOptions): StoreInspector => {
  const native = callNative(() => new addon.StoreInspector(dir, store))
  return {
    ...toStoreCopy(native),
    tip: () => callNative(() => native.tip()) ?? undefined,
    stats: () => callNative(() => native.stats()),
    beginVerify: bounds => callNative(() => native.beginVerify(bounds)),
    verifySlice: () => callNative(() => native.verifySlice()),
    differences: () => callNative(() => native.differences()),
    uncountedPrograms: () => callNative(() => native.uncountedPrograms()),
    close: () => callNative(() => native.close()),
  }
}
