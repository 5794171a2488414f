import { defaults, LEVELS } from '../../shared/log-options.js'
import { oneOf, optionsSchema } from '../validators/options-schema.js'

/** The log of every process. */
export const logSection = optionsSchema(defaults, { level: oneOf(LEVELS) })
