import { defaults } from '../../native/pool-options.js'
import { integer, optionsSchema } from '../validators/options-schema.js'

/** Thread pools of an edge. */
export const poolsSection = optionsSchema(defaults, {
  scanNiceness: integer(0, 19, 'niceness'),
  verifyNiceness: integer(0, 19, 'niceness'),
})
