import * as v from 'valibot'
import {
  base,
  described,
  host,
  privateBase,
  privateOrigin,
  secret,
  secretFile,
  section,
} from '../validators/validators.js'
import { defaults } from '../../dashboard/options.js'
import { defaults as events } from '../../dashboard/events/options.js'
import { defaults as warnings } from '../../dashboard/warnings/options.js'
import { defaults as webhooks } from '../../dashboard/webhooks/options.js'
import { integer, optionEntries, optionsSchema, text } from '../validators/options-schema.js'

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
    v.optional(v.picklist(['provider', 'here']), 'provider'),
    'Whether a sign-out also ends the session of the provider, where the provider has an `end_session_endpoint`. It must allow `<publicUrl>/` as post-logout redirect URI.',
  ),
})

/** The dashboard with its identity provider. */
export const dashboardSection = v.strictObject({
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
  events: section(optionsSchema(events)),
  warnings: section(
    optionsSchema(warnings, {
      limitPercent: integer(1, 100, 'percent'),
      limitSeconds: integer(10, 600, 'seconds'),
      errorsPercent: integer(1, 100, 'percent'),
    }),
  ),
  webhooks: section(
    optionsSchema(webhooks, {
      checkMs: integer(1_000, 2 ** 31 - 1, 'milliseconds'),
      perKindMs: integer(60_000, 2 ** 31 - 1, 'milliseconds'),
      attemptsMax: integer(1, 20, 'attempts'),
      messagesMax: integer(1, 100, 'messages'),
      warningsMax: integer(1, 100, 'warnings'),
      answerBytesMax: integer(4_096, 65_536, 'bytes'),
      urlCharsMax: integer(64, 8_192, 'characters'),
    }),
  ),
  operators: described(
    v.optional(v.array(text()), []),
    'Subjects (`sub`) of people who see the page of operators: all accesses, usage, nodes, incidents and the audit log, without any token.',
  ),
  ...optionEntries(defaults, {
    host,
    headerBytesMax: integer(4_096, 65_536, 'bytes'),
    signInsPerBrowserMax: integer(1, 32, 'attempts'),
    sessionsPerPersonMax: integer(1, 1_000, 'sessions'),
  }),
})
