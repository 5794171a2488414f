import { method } from '../method.js'
import { record, TEXT } from '../../shared/describe/schemas.js'

/**
 * The release of Agave whose behaviour the replies follow. Without `feature-set`: that is of a
 * validator which executes transactions.
 */
const AGAVE_VERSION = '4.4.0'

/** What answers, and what clients may expect of the replies. */
export const getVersion = method({
  name: 'getVersion',
  summary: 'The version of the service, and the release of Agave that its replies follow.',
  bound: 'none',
  params: [],
  result: record({ 'solana-core': TEXT, slotline: TEXT }),
  example: {
    params: [],
    result: { 'solana-core': AGAVE_VERSION, slotline: '0.1.0' },
  },
  run: ({ version }) =>
    Buffer.from(JSON.stringify({ 'solana-core': AGAVE_VERSION, slotline: version })),
})
