import { defaults } from '../../pubsub/options.js'
import { integer, optionsSchema } from '../validators/options-schema.js'

/** WebSocket subscriptions. */
export const pubsubSection = optionsSchema(defaults, {
  filtersMax: integer(1, 64, 'filters'),
  // Below 32 bits, with space for the frame of the largest account.
  chunkBytesMax: integer(64 * 1024, 1024 ** 3, 'bytes'),
})
