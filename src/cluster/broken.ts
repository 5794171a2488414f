import { EtcdError, type Etcd } from './etcd/client.js'
import { BROKEN, type Keys } from './keys.js'

/** Why a machine stops that has found that etcd went back. */
export const LOST = 'etcd has lost changes that were made'

/**
 * Ends the proofs of all machines, because etcd went back. Only machines that may change accesses
 * can; another one, whose certificate may be stolen, stops by itself.
 */
export const markBroken = async (etcd: Etcd, keys: Keys): Promise<void> => {
  try {
    await etcd.transact([], [{ put: keys.epoch, value: BROKEN }])
  } catch (error) {
    if (!(error instanceof EtcdError && error.isDenied)) throw error
  }
}
