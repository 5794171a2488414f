import * as v from 'valibot'
import { defaults as audit } from '../../access/audit/options.js'
import { defaults as authenticate } from '../../access/authenticate.js'
import { defaults as limits } from '../../access/limiter/options.js'
import { defaults as store } from '../../access/store/options.js'
import { defaults as usage } from '../../access/usage/options.js'
import { integer, optionsSchema } from '../validators/options-schema.js'
import { described, filePath, mapBytes, readersMax, section } from '../validators/validators.js'

/** Accesses and their tokens. */
export const accessSection = v.strictObject({
  keyFile: described(
    v.optional(filePath(v.string('a file'), 'made'), ''),
    'Key that encrypts tokens, generated at the first start. Empty is `access.key` in `dataDir`. Back it up apart from the store.',
  ),
  adminTokenFile: described(
    v.optional(filePath(v.string('a file'), 'made'), ''),
    'Bearer token of the admin API, generated at the first start. Empty is `admin.token` in `dataDir`.',
  ),
  store: section(optionsSchema(store, { mapBytes, readersMax })),
  authenticate: section(optionsSchema(authenticate)),
  limits: section(optionsSchema(limits)),
  usage: section(
    optionsSchema(usage, {
      keptDaysMax: integer(7, 3_650, 'days'),
      keptBytesMax: integer(64 * 1024, 2 ** 40, 'bytes'),
      historyDaysMax: integer(1, 366, 'days'),
      historyBytesMax: integer(16 * 1024, 2 ** 26, 'bytes'),
      historyTotalBytesMax: integer(64 * 1024, 2 ** 40, 'bytes'),
    }),
  ),
  audit: section(
    optionsSchema(audit, {
      keptDaysMax: integer(1, 36_500, 'days'),
      fileBytesMax: integer(64 * 1024, 2 ** 28, 'bytes'),
      filesMax: integer(2, 1_000, 'files'),
    }),
  ),
})
