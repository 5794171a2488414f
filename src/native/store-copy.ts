import type * as addon from '#native'
import { callNative, toFailure } from './errors.js'

/** A store that can be copied while its indexer runs. */
export type StoreCopy = {
  /** Writes the store as of its last commit, compacted, to a new file and syncs it. */
  copyTo(file: string): Promise<void>
}

/** Copies an open store. */
export const toStoreCopy = (native: addon.StoreInspector | addon.Indexer): StoreCopy => ({
  copyTo: async file => {
    const { failure } = await callNative(() => native.copyTo(file))
    if (failure !== undefined) throw toFailure(failure)
  },
})
