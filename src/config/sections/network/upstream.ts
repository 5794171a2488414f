import * as v from 'valibot'
import { withDefaults } from '../../../shared/options/declaration.js'
import { defaults, options } from '../../../upstream/options.js'
import { described, optionEntries, partTable } from '../../validators/options-schema.js'
import {
  base,
  credential,
  headerName,
  pathOrEmpty,
  secret,
  secretFile,
  type SecretOwner,
} from '../../validators/validators.js'

/** An upstream of the process that calls it; `own` are the defaults that differ between routes. */
export const upstreamSection = (owner: SecretOwner, own: Partial<typeof defaults> = {}) =>
  partTable(
    {
      urls: described(
        secret(v.pipe(v.array(base), v.minLength(1, 'at least one URL')), 'url', owner),
        'Regional URLs in order of preference. The next one is used only when no connection can be opened.',
      ),
      credential: described(
        secret(v.optional(credential), 'all', owner),
        'The service’s credential at the upstream. Never printed.',
      ),
      credentialFile: secretFile('credential'),
      ...optionEntries(withDefaults(options, own), {
        credentialName: headerName,
        pingPath: secret(pathOrEmpty, 'query', owner),
      }),
    },
    { ...defaults, ...own },
  )
