import * as v from 'valibot'
import { defaults } from '../../../upstream/options.js'
import { integer, oneOf, optionEntries } from '../../validators/options-schema.js'
import {
  base,
  credential,
  described,
  headerName,
  pathOrEmpty,
  secret,
  secretFile,
} from '../../validators/validators.js'

/** An upstream of submissions; `own` are the defaults that differ between routes. */
export const upstreamSection = (own: Partial<typeof defaults> = {}) =>
  v.strictObject({
    urls: described(
      secret(v.pipe(v.array(base), v.minLength(1, 'at least one URL')), 'url', 'edge'),
      'Regional URLs in order of preference. The next one is used only when no connection can be opened.',
    ),
    credential: described(
      secret(v.optional(credential), 'all', 'edge'),
      'The service’s credential at the upstream. Never printed.',
    ),
    credentialFile: secretFile('credential'),
    ...optionEntries(
      { ...defaults, ...own },
      {
        credentialIn: oneOf(['header', 'query']),
        credentialName: headerName,
        pingPath: secret(pathOrEmpty, 'query', 'edge'),
        inFlightMax: integer(1, 65_536, 'requests'),
        warmCount: integer(1, 256, 'connections'),
      },
    ),
  })
