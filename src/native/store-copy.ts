import type * as addon from '#native'
import { callNative, toFailure } from './errors.js'

/** A store that can be copied while its indexer runs. */
export type StoreCopy = {
  /** Writes the store as of one commit, compacted, to a new file of a folder and syncs it. */
  copyTo(dir: string): Promise<void>
}

/** Copies an open store. */
export const toStoreCopy = (native: addon.StoreInspector | addon.Indexer): StoreCopy => ({
  copyTo: async dir => {
    const { failure } = await callNative(() => native.copyTo(dir))
    if (failure !== undefined) throw toFailure(failure)
  },
})
