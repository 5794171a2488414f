import * as v from 'valibot'
import { defaults, engineDefaults, EXEMPT_PROGRAMS } from '../../../submission/relay/options.js'
import { integer, optionEntries } from '../../validators/options-schema.js'
import { described, path, pubkey, secret } from '../../validators/validators.js'
import { upstreamSection } from './upstream.js'

/** A relay route and its bundle engine; `own` are the defaults that differ between routes. */
export const relaySection = (own: { readonly path: string; readonly credentialName: string }) =>
  v.strictObject({
    upstream: described(
      upstreamSection({ ...engineDefaults, credentialName: own.credentialName }),
      'URLs, credential and connections of the bundle engine.',
    ),
    serviceTipAddresses: described(
      v.pipe(v.array(pubkey), v.minLength(1, 'at least one address')),
      'Tip accounts of the service.',
    ),
    engineTipAddresses: described(
      v.pipe(v.array(pubkey), v.minLength(1, 'at least one address')),
      'Tip accounts of the engine: what `getTipAccounts` answers.',
    ),
    exemptPrograms: described(
      v.optional(v.array(pubkey), [...EXEMPT_PROGRAMS]),
      'Programs that do not count as an application.',
    ),
    ...optionEntries(
      { ...defaults, path: own.path },
      {
        path: secret(path, 'query', 'edge'),
        serviceTipFloorLamports: integer(0, Number.MAX_SAFE_INTEGER, 'lamports'),
        engineTipFloorLamports: integer(0, Number.MAX_SAFE_INTEGER, 'lamports'),
        requestsPerSecondMax: integer(1, 1_000_000, 'requests'),
        requestsBurstMax: integer(1, 1_000_000, 'requests'),
        queueMs: integer(0, 60_000, 'milliseconds'),
        queuedPerAccessMax: integer(1, 100_000, 'requests'),
        queuedMax: integer(1, 100_000, 'requests'),
        statusesPerSecondMax: integer(1, 1_000_000, 'requests'),
        statusesBurstMax: integer(1, 1_000_000, 'requests'),
        statusQueueMs: integer(0, 60_000, 'milliseconds'),
        statusSharedMs: integer(0, 60_000, 'milliseconds'),
        statusSharedMax: integer(1, 100_000, 'answers'),
        tipCheckMs: integer(0, 2 ** 31 - 1, 'milliseconds'),
      },
    ),
  })
