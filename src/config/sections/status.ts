import { defaults } from '../../storage/status-options.js'
import { optionsSchema } from '../validators/options-schema.js'

/** The status file of each indexer. */
export const statusSection = optionsSchema(defaults)
