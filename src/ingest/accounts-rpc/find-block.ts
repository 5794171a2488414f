import { isMap } from '../../shared/values.js'
import { Rpc } from './client.js'
import { toRpcTarget, type AccountsRpcConfig } from './target.js'

/**
 * The blockhash of the finalized block of a slot, as an upstream RPC knows it; undefined if it
 * knows none. Throws if it cannot tell: a node removes old blocks, and skips slots that it never
 * had.
 */
export type FindBlock = (slot: number, signal: AbortSignal) => Promise<string | undefined>

/** Only the head of the block is asked for. */
const OPTIONS = {
  commitment: 'finalized',
  transactionDetails: 'none',
  rewards: false,
  maxSupportedTransactionVersion: 1,
}

/** Asks the upstream from which accounts are read. */
export const createFindBlock =
  (config: AccountsRpcConfig): FindBlock =>
  async (slot, signal) => {
    const rpc = new Rpc(toRpcTarget(config), config, { signal })
    try {
      const block = await rpc.call('getBlock', [slot, OPTIONS], `slot ${slot}`)
      const blockhash = isMap(block) ? block['blockhash'] : undefined
      return typeof blockhash === 'string' ? blockhash : undefined
    } finally {
      await rpc.close()
    }
  }
