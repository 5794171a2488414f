import * as v from 'valibot'
import { described, host, privateBase, privateOrigin } from './validators.js'
import { defaults } from '../dashboard/options.js'
import { integer, optionEntries, text } from './options-schema.js'

const identity = v.strictObject({
  issuer: described(
    privateBase,
    'Its issuer, as its discovery document says it, letter by letter.',
  ),
  clientId: described(text(), 'Who we are there.'),
  clientSecret: described(
    v.optional(text()),
    'Our secret there. Absent: a public client, by PKCE alone. Never printed.',
  ),
  scope: described(
    v.optional(text(), 'openid email profile'),
    'What is asked for. `openid` is a must; the others are shown on the page.',
  ),
})

/** The dashboard, with who signs people in. */
export const dashboardSection = v.strictObject({
  publicUrl: described(
    v.optional(privateOrigin),
    'Where browsers find the dashboard; absent is its listener. The provider must know `<publicUrl>/callback`.',
  ),
  identity: described(
    v.optional(identity),
    'The OpenID Connect provider that people sign in with; absent, nobody can.',
  ),
  ...optionEntries(defaults, {
    host,
    headerBytesMax: integer(4_096, 65_536, 'bytes'),
    sessionsPerPersonMax: integer(1, 1_000, 'sessions'),
  }),
})
