import { defaults } from '../../pubsub/options.js'
import { integer, optionsSchema } from '../validators/options-schema.js'
import { withRenamed } from '../validators/renamed.js'

const moved = (name: string) => ({ removed: `processes.${name} bounds it for each WebSocket` })

/** WebSocket subscriptions. */
export const pubsubSection = withRenamed(
  optionsSchema(defaults, {
    filtersMax: integer(1, 64, 'filters'),
    // Below 32 bits, with space for the frame of the largest account.
    chunkBytesMax: integer(64 * 1024, 1024 ** 3, 'bytes'),
  }),
  {
    failuresFreeMax: moved('socketFailuresFreeMax'),
    failureWaitMs: moved('socketFailureWaitMs'),
    failureWaitLongMs: moved('socketFailureWaitLongMs'),
    failuresWaitingMax: moved('socketFailuresWaitingMax'),
    failuresHalveMs: moved('socketFailuresHalveMs'),
    failuresMax: { removed: 'no WebSocket is closed for failing subscribes' },
  },
)
