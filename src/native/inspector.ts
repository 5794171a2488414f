import * as addon from '#native'
import { call } from './errors.js'
import type { StoreOptions, StoreStats, Tip } from './store.js'
import { toStoreCopy, type StoreCopy } from './store-copy.js'

/** Bounds of one verification. */
export type VerifyBounds = {
  readonly sliceRowsMax: number
  readonly sliceMs: number
  readonly programRowsMax: number
  readonly differencesMax: number
}

/** What one slice looked at. */
export type VerifySlice = {
  readonly table: string
  readonly rows: number
  readonly isLast: boolean
}

/** A store that a command looks at or copies, while its indexer goes on. */
export type Caretaker = StoreCopy & {
  tip(): Tip | undefined
  stats(): StoreStats
  /** Begins to verify; answers how many rows there are to look at, about. */
  beginVerify(bounds: VerifyBounds): number
  /** Looks at the next rows in one short read transaction. */
  verifySlice(): VerifySlice
  /** Differences so far, as sentences. */
  differences(): readonly string[]
  /** Programs with too many accounts to be counted; they are in a sum over all programs. */
  uncountedPrograms(): number
  close(): void
}

/** Opens the store of an indexer for reading. A process opens each store once. */
export const openCaretaker = (dir: string, store: StoreOptions): Caretaker => {
  const native = call(() => new addon.Caretaker(dir, store))
  return {
    ...toStoreCopy(native),
    tip: () => call(() => native.tip()) ?? undefined,
    stats: () => call(() => native.stats()),
    beginVerify: bounds => call(() => native.beginVerify(bounds)),
    verifySlice: () => call(() => native.verifySlice()),
    differences: () => call(() => native.differences()),
    uncountedPrograms: () => call(() => native.uncountedPrograms()),
    close: () => call(() => native.close()),
  }
}
