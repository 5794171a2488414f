import { method } from '../method.js'
import { record, TEXT } from '../../shared/describe/schemas.js'

/**
 * The release of Agave whose replies ours are compared with. Without `feature-set`: that is of a
 * validator which executes transactions.
 */
const VERSION = Buffer.from('{"solana-core":"3.1.12"}')

/** What clients may expect of the replies. */
export const getVersion = method({
  name: 'getVersion',
  summary: 'The release of Agave that the replies follow.',
  bound: 'none',
  params: [],
  result: record({ 'solana-core': TEXT }),
  example: {
    params: [],
    result: { 'solana-core': '3.1.12' },
  },
  run: () => VERSION,
})
