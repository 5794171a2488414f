import { method } from '../method.js'
import { ignored, pubkey } from '../params.js'
import { atSlot, TOKEN_AMOUNT } from '../schemas.js'

/** Total supply of a token mint, as of the indexed slot. */
export const getTokenSupply = method({
  name: 'getTokenSupply',
  summary: 'The total supply of a mint.',
  bound: 'timeout',
  params: [pubkey, ignored],
  result: atSlot(TOKEN_AMOUNT),
  // The native addon writes the result's bytes: u64 values never become JavaScript numbers.
  run: (reads, mint) => reads.tokenSupply(mint),
})
