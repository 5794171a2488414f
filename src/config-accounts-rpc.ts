import * as v from 'valibot'
import { DATA_ENCODINGS, defaults } from './ingest/rpc-options.js'
import { integer, leaf, oneOf, optionEntries } from './shared/options-schema.js'

const isText = (value: unknown): value is string => typeof value === 'string'
const described = <S extends v.GenericSchema>(schema: S, reason: string) =>
  v.pipe(schema, v.description(reason))

// A query or a user would be a secret in a place that is printed: that is what `credential` is for.
const endpoint = leaf<string>(
  value =>
    isText(value) && /^https?:\/\//.test(value) && URL.canParse(value) && !/[?#@\s]/.test(value),
  'an http or https URL without user, query and fragment',
)
const credential = leaf<string>(
  value => isText(value) && /^[!-~]+$/.test(value),
  'a text of visible ASCII characters',
)

/** The upstream RPC that accounts are read from: a bootstrap without a snapshot, and the sweep. */
export const accountsRpcSection = v.strictObject({
  endpoint: described(endpoint, 'Its URL. What follows the host is never printed.'),
  credential: described(v.optional(credential), 'The service’s own key there. Never printed.'),
  ...optionEntries(defaults, {
    credentialIn: oneOf(['header', 'query']),
    credentialName: leaf<string>(
      value => isText(value) && /^[A-Za-z0-9-]+$/.test(value),
      'a name of letters, digits and -',
    ),
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
