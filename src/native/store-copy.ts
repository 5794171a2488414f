import type * as addon from '#native'
import { callNative, toFailure } from './errors.js'

/** A store that is copied while its indexer goes on. */
export type StoreCopy = {
  /** Writes the store as of its last commit, compacted, into a new file and waits for the disk. */
  copyTo(file: string): Promise<void>
}

/** The copying of whoever has a store open. */
export const toStoreCopy = (native: addon.StoreInspector | addon.Indexer): StoreCopy => ({
  copyTo: async file => {
    const { error, detail = '' } = await callNative(() => native.copyTo(file))
    if (error !== undefined) throw toFailure(error, detail)
  },
})
