import * as v from 'valibot'
import * as audit from '../../access/audit/options.js'
import { defaults as authenticate } from '../../access/authenticate.js'
import * as limits from '../../access/limiter/options.js'
import * as store from '../../access/store/options.js'
import * as usage from '../../usage/options.js'
import { constantsTable, described, optionsTable } from '../validators/options-schema.js'
import { filePath } from '../validators/validators.js'

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
  store: optionsTable(store),
  authenticate: constantsTable(authenticate),
  limits: optionsTable(limits),
  usage: optionsTable(usage),
  audit: optionsTable(audit),
})
