import { defaults } from '../../storage/status-options.js'
import { optionsSchema } from '../validators/options-schema.js'

/** The status files of indexers and of the follower. */
export const statusSection = optionsSchema(defaults)
