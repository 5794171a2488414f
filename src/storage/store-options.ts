import { totalmem } from 'node:os'
import process from 'node:process'
import { decodePubkey } from '../native/encoding.js'
import type { Options } from '../native/store-options.js'
import type { StoreOptions } from '../native/store.js'

/** The part of a configuration that concerns stores; addresses are base58. */
export type StoresConfig = {
  readonly store: Options
  readonly networks: readonly {
    readonly id: string
    readonly changedPrograms?: readonly string[] | undefined
    readonly scope?:
      | {
          readonly programs: readonly string[]
          readonly mints: readonly string[]
          readonly pubkeys: readonly string[]
        }
      | undefined
  }[]
}

/** Memory of the machine, or of the control group of this process if that has less. */
export const memoryBytes = (): number =>
  Math.min(totalmem(), process.constrainedMemory() || Infinity)

const decodeAll = (pubkeys: readonly string[]): Uint8Array[] => pubkeys.map(decodePubkey)

/** How every process opens one network's store: their options must not differ. */
export const toStoreOptions = (config: StoresConfig, network: string): StoreOptions => {
  const { changedPrograms, scope } = config.networks.find(({ id }) => id === network) ?? {}
  return {
    ...config.store,
    ...(changedPrograms === undefined ? {} : { changedPrograms: decodeAll(changedPrograms) }),
    ...(scope === undefined
      ? {}
      : {
          scope: {
            programs: decodeAll(scope.programs),
            mints: decodeAll(scope.mints),
            pubkeys: decodeAll(scope.pubkeys),
          },
        }),
  }
}

/**
 * How edges and indexers, which read in any order, open it. What reads a store from its beginning
 * to its end, like a backup, leaves the system's readahead on.
 */
export const toLiveStoreOptions = (config: StoresConfig, network: string): StoreOptions => ({
  ...toStoreOptions(config, network),
  memoryBytes: memoryBytes(),
})
