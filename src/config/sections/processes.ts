import { integer, optionsSchema } from '../validators/options-schema.js'
import { defaults } from './process-options.js'

/** The processes of the machine. */
export const processesSection = optionsSchema(defaults, {
  edgeCount: integer(0, 255, 'count'),
  edgeSliceMicros: integer(0, 100_000, 'microseconds'),
  descriptorsReserved: integer(64, 2 ** 20, 'descriptors'),
  unsentBytesMax: integer(4_096, 2 ** 31 - 1, 'bytes'),
  // From the largest valid submission to a size that is cheap to copy.
  submissionBytesMax: integer(22 * 1024, 1024 ** 2, 'bytes'),
})
