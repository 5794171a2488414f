import { defaults } from '../../native/store-options.js'
import { integer, optionsSchema } from '../validators/options-schema.js'
import { mapBytes, readersMax } from '../validators/validators.js'

/** The accounts store of each network. */
export const storeSection = optionsSchema(defaults, {
  mapBytes,
  readersMax,
  feedBytesMax: integer(0, Number.MAX_SAFE_INTEGER, 'bytes'),
})
