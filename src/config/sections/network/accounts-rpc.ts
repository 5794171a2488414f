import * as v from 'valibot'
import {
  base,
  caFile,
  credential,
  headerName,
  secret,
  secretFile,
} from '../../validators/validators.js'
import { defaults, options } from '../../../ingest/accounts-rpc/options.js'
import { described, optionEntries, partTable } from '../../validators/options-schema.js'

/** The upstream RPC of account reads: a bootstrap without a snapshot, and the sweep. */
export const accountsRpcSection = partTable(
  {
    endpoint: described(
      secret(base, 'url', 'indexer'),
      'Its URL. Everything after the host is never printed.',
    ),
    credential: described(
      secret(v.optional(credential), 'all', 'indexer'),
      'The service’s credential there. Never printed.',
    ),
    credentialFile: secretFile('credential'),
    caFile: described(
      v.optional(caFile),
      'PEM of a private certificate authority, instead of those of the system.',
    ),
    ...optionEntries(options, { credentialName: headerName }),
  },
  defaults,
)
