import t from 'tap'
import { openIdentityProvider } from '../../../src/sandbox/identity/provider.js'
import { createIdentityUsers } from '../../../src/sandbox/identity/users.js'
import { createIdentityStore } from '../../../src/sandbox/identity/store.js'
import { DashboardClient } from '../../fixtures/dashboard/dashboard-client.js'

let fill = 0
const [ADA, BEN] = createIdentityUsers(byteCount => new Uint8Array(byteCount).fill(++fill))
const BACK = 'http://127.0.0.1:1/callback'
const CLIENT = { clientId: 'client', clientSecret: 'secret' }

const authorizeUrl = (issuer: string, more: Record<string, string> = {}): string => {
  const query = {
    client_id: CLIENT.clientId,
    response_type: 'code',
    redirect_uri: BACK,
    scope: 'openid email profile',
    state: 's',
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
    ...more,
  }
  return `${issuer}/auth?${new URLSearchParams(query)}`
}

t.test('the provider listens at once and accepts only its client', async t => {
  const provider = await openIdentityProvider({
    users: [ADA, BEN],
    ...CLIENT,
    redirectUris: [BACK],
  })
  t.teardown(() => provider.close())
  const { issuer } = provider
  const client = new DashboardClient(issuer)
  t.match((await client.ask('/.well-known/openid-configuration')).json, {
    issuer,
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
  })
  const { keys } = (await client.ask('/jwks')).json as { keys: Record<string, unknown>[] }
  t.equal(keys.length, 1)
  t.notOk('d' in (keys[0] ?? {}), 'the private part stays')

  const form = await client.follow(authorizeUrl(issuer), url => url.startsWith(BACK))
  t.match(form, `${issuer}/interaction/`)
  const page = await client.ask(form)
  t.match(page.text, ADA.email, 'the first person is suggested')
  t.notMatch(page.text, ADA.password)
  const post = (fields: Record<string, string>) =>
    client.ask(form, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(fields).toString(),
    })
  const wrong = await post({ email: '"><script>', password: ADA.password })
  t.equal(wrong.status, 403)
  t.notMatch(wrong.text, '<script>')
  t.equal((await post({ email: BEN.email, password: ADA.password })).status, 403)
  t.equal((await post({ email: 'a'.repeat(5_000), password: '' })).status, 400)

  const refused: [name: string, url: string][] = [
    ['another client', authorizeUrl(issuer, { client_id: 'other' })],
    ['another way back', authorizeUrl(issuer, { redirect_uri: 'http://127.0.0.1:2/callback' })],
    ['a way back that begins alike', authorizeUrl(issuer, { redirect_uri: `${BACK}.evil` })],
  ]
  for (const [name, url] of refused) t.equal((await client.ask(url)).status, 400, name)
  const plain = await client.ask(authorizeUrl(issuer, { code_challenge: '' }))
  t.match(plain.headers.get('location'), 'error=invalid_request', 'without PKCE')
  t.equal((await new DashboardClient(issuer).ask('/interaction/nothing')).status, 400)
})

t.test('the store is bounded and its entries expire', async t => {
  let nowMs = 0
  const of = createIdentityStore(() => nowMs)
  const codes = of('Code')
  await codes.upsert('a', { uid: 'u', grantId: 'g' }, 10)
  t.match(await codes.find('a'), { uid: 'u' })
  t.match(await codes.findByUid('u'), { uid: 'u' })
  t.equal(await of('Session').find('a'), undefined, 'kinds are apart')
  nowMs = 10_000
  t.equal(await codes.find('a'), undefined)
  await codes.upsert('b', { grantId: 'g' }, 10)
  await codes.consume('b')
  t.match(await codes.find('b'), { consumed: 10 })
  await codes.revokeByGrantId('g')
  t.equal(await codes.find('b'), undefined)
  for (let index = 0; index < 2_001; index++) await codes.upsert(String(index), {}, 10)
  t.equal(await codes.find('0'), undefined, 'the oldest was evicted')
  t.ok(await codes.find('1'))
  await codes.destroy('1')
  t.equal(await codes.find('1'), undefined)
})
