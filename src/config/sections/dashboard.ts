import * as v from 'valibot'
import {
  base,
  host,
  privateBase,
  privateOrigin,
  secret,
  secretFile,
} from '../validators/validators.js'
import { defaults, options } from '../../dashboard/options.js'
import { defaults as events } from '../../dashboard/events/options.js'
import { defaults as warnings } from '../../dashboard/warnings/options.js'
import { defaults as webhooks } from '../../dashboard/webhooks/options.js'
import {
  constantsTable,
  described,
  oneOf,
  optionEntries,
  partTable,
  text,
} from '../validators/options-schema.js'

const identity = v.strictObject({
  issuer: described(privateBase, 'Its issuer, exactly as in its discovery document.'),
  clientId: described(text(), 'Client id of the service there.'),
  clientSecret: described(
    secret(v.optional(text()), 'all', 'control'),
    'Client secret; absent for a public client with PKCE only. Never printed.',
  ),
  clientSecretFile: secretFile('clientSecret'),
  scope: described(
    v.optional(text(), 'openid email profile'),
    'Requested scope. `openid` is required; the claims of the others are shown on the page.',
  ),
  signOut: described(
    v.optional(oneOf(['provider', 'here']), 'provider'),
    'Whether a sign-out also ends the session of the provider, where the provider has an `end_session_endpoint`. It must allow `<publicUrl>/` as post-logout redirect URI.',
  ),
})

/** The dashboard with its identity provider. */
export const dashboardSection = partTable(
  {
    publicUrl: described(
      v.optional(privateOrigin),
      'URL of the dashboard for browsers; absent is its listener. The provider must allow `<publicUrl>/callback`.',
    ),
    identity: described(
      v.optional(identity),
      'The OpenID Connect provider for sign-in; without it no one can sign in.',
    ),
    docsUrl: described(
      v.optional(base),
      'Where people read how to use the service, such as a copy of `docs/`; linked on the page.',
    ),
    adminHosts: described(
      v.optional(v.array(host), []),
      'Names in the `Host` header under which the admin API is served, besides those of loopback and `host`.',
    ),
    events: constantsTable(events),
    warnings: constantsTable(warnings),
    webhooks: constantsTable(webhooks),
    operators: described(
      v.optional(v.array(text()), []),
      'Subjects (`sub`) of people who see the page of operators: all accesses, usage, lanes, nodes, incidents and the audit log, without any token.',
    ),
    ...optionEntries(options, { host }),
  },
  defaults,
)
