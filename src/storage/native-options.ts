import type { Config } from '../config/config.js'
import { decodePubkey } from '../native/encoding.js'
import type { StoreOptions } from '../native/store.js'

const decodeAll = (texts: readonly string[]): Uint8Array[] => texts.map(decodePubkey)

/** One network's store as every process opens it: what they pass must not differ. */
export const toStoreOptions = (config: Config, network: string): StoreOptions => {
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
