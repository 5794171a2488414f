import * as v from 'valibot'
import { defaults } from '../../../submission/lander/options.js'
import { integer, optionEntries } from '../../validators/options-schema.js'
import { described, path, pubkey, secret } from '../../validators/validators.js'
import { upstreamSection } from './upstream.js'

/** A lander. */
export const landerSection = v.strictObject({
  upstream: described(upstreamSection(), 'Its URLs, credential and connections.'),
  tipAddresses: described(
    v.pipe(v.array(pubkey), v.minLength(1, 'at least one address')),
    'Tip accounts of the lander itself.',
  ),
  serviceTipAddresses: described(
    v.optional(v.array(pubkey), []),
    'Tip accounts of the service; a tip to either counts.',
  ),
  ...optionEntries(defaults, {
    findingsWaitMs: integer(0, 2 ** 31 - 1, 'milliseconds'),
    tipFloorLamports: integer(0, Number.MAX_SAFE_INTEGER, 'lamports'),
    transactionPath: secret(path, 'query', 'edge'),
    bundlePath: secret(path, 'query', 'edge'),
    batchPath: secret(path, 'query', 'edge'),
  }),
})
