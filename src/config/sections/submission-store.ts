import { defaults } from '../../submission/store/options.js'
import { integer, optionsSchema } from '../validators/options-schema.js'
import { mapBytes, readersMax } from '../validators/validators.js'

/** The submission store of each edge. */
export const submissionStoreSection = optionsSchema(defaults, {
  mapBytes,
  readersMax,
  // Each has a slot in a file that is mapped completely.
  inFlightMax: integer(1, 2_048, 'submissions'),
})
