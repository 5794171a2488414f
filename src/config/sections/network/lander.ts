import * as v from 'valibot'
import { defaults, options } from '../../../submission/lander/options.js'
import { described, optionEntries, partTable } from '../../validators/options-schema.js'
import { pathOrEmpty, pubkey, secret, secretPath } from '../../validators/validators.js'
import { upstreamSection } from './upstream.js'

/** A lander. */
export const landerSection = partTable(
  {
    upstream: described(upstreamSection('sender'), 'Its URLs, credential and connections.'),
    tipAddresses: described(
      v.pipe(v.array(pubkey), v.minLength(1, 'at least one address')),
      'Tip accounts of the lander itself.',
    ),
    serviceTipAddresses: described(
      v.optional(v.array(pubkey), []),
      'Tip accounts of the service; a tip to either counts.',
    ),
    ...optionEntries(options, {
      transactionPath: secretPath,
      bundlePath: secretPath,
      batchPath: secretPath,
      binaryPath: secret(pathOrEmpty, 'query', 'sender'),
    }),
  },
  defaults,
)
