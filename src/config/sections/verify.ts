import { defaults } from '../../storage/verify-options.js'
import { optionsSchema } from '../validators/options-schema.js'

/** The verification of stores. */
export const verifySection = optionsSchema(defaults)
