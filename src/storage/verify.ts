import { setTimeout as sleep } from 'node:timers/promises'
import { openStoreInspector } from '../native/store-inspector.js'
import type { StoreOptions } from '../native/store.js'
import { demandLiveStore } from './generations.js'
import type { Options } from './verify-options.js'

/** The result of verifying one store. */
export type Verification = {
  readonly network: string
  readonly generation: string
  /** Newest slot at the beginning; null in an empty store. */
  readonly slot: number | null
  readonly isSound: boolean
  readonly rows: number
  readonly seconds: number
  /** Programs with too many accounts to be counted one by one. */
  readonly uncountedPrograms: number
  readonly differences: readonly string[]
}

export type VerifyOptions = {
  readonly dataDir: string
  readonly network: string
  readonly storeOptions: StoreOptions
  readonly bounds: Options
  readonly onProgress: (rows: number, totalRows: number, table: string) => void
}

/** Recomputes the indexes of a network's live store from its accounts and compares them. */
export const verifyStore = async (options: VerifyOptions): Promise<Verification> => {
  const { dataDir, network, storeOptions, onProgress } = options
  const { rowsPerSecondMax, ...bounds } = options.bounds
  const { generation, dir } = demandLiveStore(dataDir, network)
  const store = openStoreInspector(dir, storeOptions)
  try {
    const slot = store.tip()?.slot ?? null
    const total = store.beginVerify(bounds)
    const startedMs = performance.now()
    let rows = 0
    for (;;) {
      const slice = store.verifySlice()
      rows += slice.rows
      if (slice.isLast) break
      onProgress(rows, total, slice.table)
      // Also where the pause is 0 ms: signals are handled between slices.
      const dueMs = startedMs + (rows * 1_000) / rowsPerSecondMax
      await sleep(Math.max(0, dueMs - performance.now()))
    }
    const differences = store.differences()
    return {
      network,
      generation,
      slot,
      isSound: differences.length === 0,
      rows,
      seconds: Math.round(performance.now() - startedMs) / 1_000,
      uncountedPrograms: store.uncountedPrograms(),
      differences,
    }
  } finally {
    store.close()
  }
}
