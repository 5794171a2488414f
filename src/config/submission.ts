import * as v from 'valibot'
import {
  base,
  credential,
  described,
  headerName,
  methodName,
  path,
  pathOrEmpty,
  pubkey,
} from './validators.js'
import { defaults as forward, upstreamDefaults as forwardUpstream } from '../rpc/forward-options.js'
import { withRenamed } from './renamed.js'
import { integer, oneOf, optionEntries } from './options-schema.js'
import { defaults as lander } from '../submission/lander/options.js'
import { engineDefaults, EXEMPT_PROGRAMS, defaults as relay } from '../submission/relay/options.js'
import { defaults as upstreamDefaults } from '../upstream/options.js'

/** An upstream of submissions; `own` are the defaults that differ between routes. */
const upstream = (own: Partial<typeof upstreamDefaults> = {}) =>
  withRenamed(
    v.strictObject({
      urls: described(
        v.pipe(v.array(base), v.minLength(1, 'at least one URL')),
        'Regional URLs in order of preference. The next one is used only when no connection can be opened.',
      ),
      credential: described(
        v.optional(credential),
        'The service’s credential at the upstream. Never printed.',
      ),
      ...optionEntries(
        { ...upstreamDefaults, ...own },
        {
          credentialIn: oneOf(['header', 'query']),
          credentialName: headerName,
          pingPath: pathOrEmpty,
          inFlightMax: integer(1, 65_536, 'requests'),
          warmCount: integer(1, 256, 'connections'),
        },
      ),
    }),
    { lookOutMicros: { removed: 'answers are no longer awaited by polling' } },
  )

/** A lander. */
export const landerSection = v.strictObject({
  upstream: described(upstream(), 'Its URLs, credential and connections.'),
  tipAddresses: described(
    v.pipe(v.array(pubkey), v.minLength(1, 'at least one address')),
    'Tip accounts of the lander itself.',
  ),
  serviceTipAddresses: described(
    v.optional(v.array(pubkey), []),
    'Tip accounts of the service; a tip to either counts.',
  ),
  ...optionEntries(lander, {
    findingsWaitMs: integer(0, 2 ** 31 - 1, 'milliseconds'),
    tipFloorLamports: integer(0, Number.MAX_SAFE_INTEGER, 'lamports'),
    transactionPath: path,
    bundlePath: path,
    batchPath: path,
  }),
})

/** A relay route and its bundle engine; `own` are the defaults that differ between routes. */
export const relaySection = (own: { readonly path: string; readonly credentialName: string }) =>
  v.strictObject({
    upstream: described(
      upstream({ ...engineDefaults, credentialName: own.credentialName }),
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
      { ...relay, path: own.path },
      {
        path,
        serviceTipFloorLamports: integer(0, Number.MAX_SAFE_INTEGER, 'lamports'),
        engineTipFloorLamports: integer(0, Number.MAX_SAFE_INTEGER, 'lamports'),
        requestsPerSecondMax: integer(1, 1_000_000, 'requests'),
        requestsBurstMax: integer(1, 1_000_000, 'requests'),
        tipCheckMs: integer(0, 2 ** 31 - 1, 'milliseconds'),
      },
    ),
  })

/** The upstream RPC for methods that this service does not answer. */
export const rpcSection = v.strictObject({
  upstream: described(upstream(forwardUpstream), 'Its URLs, credential and connections.'),
  allow: described(
    v.optional(v.array(methodName)),
    'The only methods that are forwarded; absent is all that the service does not answer itself.',
  ),
  deny: described(
    v.optional(v.array(methodName), []),
    'Methods that are not forwarded, whatever `allow` says: -32601.',
  ),
  ...optionEntries(forward, { outsideScope: oneOf(['error', 'forward']) }),
})
