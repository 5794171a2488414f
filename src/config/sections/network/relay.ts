import * as v from 'valibot'
import { defaults, options, engineDefaults } from '../../../submission/relay/options.js'
import { withDefaults } from '../../../shared/options/declaration.js'
import { described, optionEntries, partTable } from '../../validators/options-schema.js'
import { pubkey, secretPath } from '../../validators/validators.js'
import { upstreamSection } from './upstream.js'

/** A relay route and its bundle engine; `own` are the defaults that differ between routes. */
export const relaySection = (own: { readonly path: string; readonly credentialName: string }) =>
  partTable(
    {
      upstream: described(
        upstreamSection('sender', { ...engineDefaults, credentialName: own.credentialName }),
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
      ...optionEntries(withDefaults(options, { path: own.path }), { path: secretPath }),
    },
    defaults,
  )
