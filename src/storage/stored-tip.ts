import { openStoreInspector } from '../native/store-inspector.js'
import type { StoreOptions } from '../native/store.js'
import type { IndexerStatus } from '../shared/indexer-status.js'

/** The tip of a store that no process writes; null if it has none or cannot be opened. */
export const readStoredTip = (dir: string, options: StoreOptions): IndexerStatus['tip'] => {
  try {
    const store = openStoreInspector(dir, options)
    const tip = store.tip()
    store.close()
    if (tip === undefined) return null
    const { blockHeight, blockTime = null, slot } = tip
    return { slot, blockHeight, blockTime, committedAtMs: null }
  } catch {
    // The next start of the indexer reports why.
    return null
  }
}
