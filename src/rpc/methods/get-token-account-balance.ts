import { method } from '../method.js'
import { pubkey, tokenOptions } from '../params.js'
import { atSlot, orUnchanged, TOKEN_AMOUNT } from '../../shared/describe/schemas.js'

/** The amount in a token account. */
export const getTokenAccountBalance = method({
  name: 'getTokenAccountBalance',
  summary: 'The amount that a token account holds.',
  bound: 'timeout',
  params: [pubkey, tokenOptions],
  result: atSlot(orUnchanged(TOKEN_AMOUNT)),
  errors: ['accountMissing', 'notTokenAccount', 'mintMissing', 'mintUnpack'],
  example: {
    params: ['9BfqjzPM2VBpEgKSTJTET8gtQhM4TuYy3ki2dxafdsmh'],
    result: {
      context: { slot: 9 },
      value: { amount: '1000000000', decimals: 9, uiAmount: 1, uiAmountString: '1' },
    },
  },
  run: (reads, key, changedSinceSlot) => reads.tokenBalance(key, changedSinceSlot),
})
