import { decodePubkey } from '../../native/encoding.js'
import { isMap } from '../../shared/values.js'
import type { Rpc } from './client.js'
import { RpcReadFailure } from './failure.js'

/** Reads the base block of a store from an upstream RPC. */
export type RpcBase = {
  readonly slot: number
  readonly parentSlot: number
  readonly blockhash: Uint8Array
  readonly blockHeight: number
  readonly blockTime: number | undefined
}

/** Error codes of a slot without a block: skipped, or skipped and no longer stored. */
const SKIPPED: ReadonlySet<number> = new Set([-32007, -32009])

const isSlot = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0

const toBase = (slot: number, block: unknown): RpcBase => {
  const { parentSlot, blockhash, blockHeight, blockTime } = isMap(block)
    ? block
    : { parentSlot: undefined, blockhash: undefined, blockHeight: undefined, blockTime: undefined }
  if (!isSlot(parentSlot) || !isSlot(blockHeight) || typeof blockhash !== 'string')
    throw new RpcReadFailure('refused', `getBlock for slot ${slot}: the upstream answers no block`)
  return {
    slot,
    parentSlot,
    blockhash: decodePubkey(blockhash),
    blockHeight,
    blockTime: typeof blockTime === 'number' ? blockTime : undefined,
  }
}

/**
 * Newest block from `oldestSlot` to `newestSlot`: the base of rows that are all at or after
 * `newestSlot`.
 */
export const readBase = async (
  rpc: Rpc,
  { newestSlot, oldestSlot }: { readonly newestSlot: number; readonly oldestSlot: number },
): Promise<RpcBase> => {
  const config = {
    commitment: 'confirmed',
    transactionDetails: 'none',
    rewards: false,
    maxSupportedTransactionVersion: 1,
  }
  for (let slot = newestSlot; slot >= oldestSlot; slot--)
    try {
      return toBase(slot, await rpc.call('getBlock', [slot, config], `slot ${slot}`))
    } catch (error) {
      if (!(error instanceof RpcReadFailure) || !SKIPPED.has(error.code ?? 0)) throw error
    }
  throw new RpcReadFailure(
    'refused',
    `getBlock: the upstream has no block in the slots ${oldestSlot} to ${newestSlot}`,
  )
}
