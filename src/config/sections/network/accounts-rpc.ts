import * as v from 'valibot'
import {
  base,
  caFile,
  credential,
  described,
  headerName,
  secret,
  secretFile,
} from '../../validators/validators.js'
import { DATA_ENCODINGS, defaults } from '../../../ingest/accounts-rpc/options.js'
import { integer, oneOf, optionEntries } from '../../validators/options-schema.js'

/** The upstream RPC of account reads: a bootstrap without a snapshot, and the sweep. */
export const accountsRpcSection = v.strictObject({
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
  ...optionEntries(defaults, {
    credentialIn: oneOf(['header', 'query']),
    credentialName: headerName,
    encoding: oneOf(DATA_ENCODINGS),
    pageRowsMax: integer(1, 10_000, 'accounts'),
    keysPerCallMax: integer(1, 100, 'addresses'),
    requestsPerSecondMax: integer(1, 10_000, 'requests'),
    attemptsMax: integer(1, 100, 'tries'),
    slowAttemptsMax: integer(1, 100, 'tries'),
    splitOffset: integer(0, 1024 ** 2, 'bytes'),
    splitPrefixBytesMax: integer(1, 8, 'bytes'),
    slackSlots: integer(0, 1_000, 'slots'),
    sweepKeysPerSecond: integer(0, 100_000, 'addresses'),
  }),
})
