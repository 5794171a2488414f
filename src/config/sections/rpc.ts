import { defaults } from '../../rpc/options.js'
import { integer, optionsSchema } from '../validators/options-schema.js'

/** JSON-RPC reads. */
export const rpcSection = optionsSchema(defaults, {
  nestingMax: integer(8, 127, 'levels'),
  // At most 128 MiB for each store that an edge reads.
  recentResultsMax: integer(0, 65_536, 'count'),
})
