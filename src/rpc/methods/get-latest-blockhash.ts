import { method } from '../method.js'
import { ignored } from '../params.js'
import { atSlot, PUBKEY, record, SLOT } from '../schemas.js'

/** Blockhash of the newest confirmed block, and the last height at which it is valid. */
export const getLatestBlockhash = method({
  name: 'getLatestBlockhash',
  summary: 'The newest blockhash, and the last block height at which it is valid.',
  bound: 'none',
  params: [ignored],
  result: atSlot(record({ blockhash: PUBKEY, lastValidBlockHeight: SLOT })),
  run: reads => reads.latestBlockhash(),
})
