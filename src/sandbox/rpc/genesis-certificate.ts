import bs58 from 'bs58'
import type { Chain } from '../chain/chain.js'

/** An aggregate of BLS signatures in affine form. */
const SIGNATURE_BYTES = 192

/**
 * Result of getAgGenesisCert in the shape of Agave 4.4: the last block before Alpenglow, or null on
 * a TowerBFT chain. Nobody signed it: the dev chain has no validators.
 */
export const genesisCertificate = (chain: Chain) => {
  const { firstSlot, finalizedAfterSlots } = chain.options
  if (finalizedAfterSlots > 0) return null
  const slot = firstSlot - 1
  const blockId = [...bs58.decode(chain.blockhashOf(slot))]
  const signature = new Array<number>(SIGNATURE_BYTES).fill(0)
  return { block: { slot, blockId }, signature: { signature, bitmap: [] } }
}
