import { method } from '../method.js'
import { pubkey, tokenOptions } from '../params.js'
import { atSlot, orUnchanged, TOKEN_AMOUNT } from '../../shared/describe/schemas.js'

/** Total supply of a token mint, as of the indexed slot. */
export const getTokenSupply = method({
  name: 'getTokenSupply',
  summary: 'The total supply of a mint.',
  bound: 'timeout',
  params: [pubkey, tokenOptions],
  result: atSlot(orUnchanged(TOKEN_AMOUNT)),
  // The native addon writes the result's bytes: u64 values never become JavaScript numbers.
  errors: ['accountMissing', 'notTokenMint', 'mintUnpack'],
  example: {
    params: ['HDQyTpmXofMPGWT9HscU1HBKoeus2n9EJYVfwKWPizDs'],
    result: {
      context: { slot: 9 },
      value: {
        amount: '123456789',
        decimals: 6,
        uiAmount: 123.456789,
        uiAmountString: '123.456789',
      },
    },
  },
  run: (reads, mint, changedSinceSlot) => reads.tokenSupply(mint, changedSinceSlot),
})
