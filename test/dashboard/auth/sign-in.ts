import { createHash } from 'node:crypto'
import t from 'tap'
import { defaults } from '../../../src/dashboard/options.js'
import { ADA, startDashboard } from '../../fixtures/dashboard/dashboard.js'
import { DashboardClient } from '../../fixtures/dashboard/dashboard-client.js'
import type { ProviderFault } from '../../fixtures/dashboard/hostile-provider.js'
import {
  arrive,
  isSignedIn,
  leave,
  setUpSignIn as setUp,
  type SignInSetup as Setup,
} from '../../fixtures/dashboard/sign-in-steps.js'

t.test('a sign-in sends the provider what OAuth 2.1 requires', async t => {
  const setup = await setUp(t)
  const { client, provider, dashboard } = setup
  const { headers } = await client.ask('/sign-in')
  const url = new URL(headers.get('location') ?? '')
  const query = Object.fromEntries(url.searchParams)
  t.match(query, {
    response_type: 'code',
    client_id: 'dashboard-under-test',
    redirect_uri: `${dashboard.url}/callback`,
    scope: 'openid email profile',
    code_challenge_method: 'S256',
    state: /^[\w-]{43}$/,
    nonce: /^[\w-]{43}$/,
    code_challenge: /^[\w-]{43}$/,
    max_age: '43200',
  })
  t.notOk('prompt' in query)
  t.match(headers.get('set-cookie'), /; HttpOnly; SameSite=Lax/)
  provider.nonce = query['nonce'] ?? ''
  const { state = '' } = query
  const back = new URLSearchParams({ code: 'canary-code', state, iss: provider.issuer })
  t.equal(await arrive(client, back), '/')
  t.ok(await isSignedIn(client))

  const [exchange] = provider.exchanges
  const verifier = exchange?.get('code_verifier') ?? ''
  t.equal(createHash('sha256').update(verifier).digest('base64url'), query['code_challenge'])
  t.equal(exchange?.get('redirect_uri'), `${dashboard.url}/callback`)
  t.equal(exchange?.get('code'), 'canary-code')
  t.match(provider.authorizations[0], /^Basic /)
  t.notOk(
    [...client.cookies.keys()].some(name => name.includes('sign-in')),
    'its cookie is gone',
  )
})

t.test('a callback must match its sign-in', async t => {
  const cases: [
    name: string,
    change: (query: URLSearchParams, setup: Setup) => void,
    to: string,
  ][] = [
    ['another state', query => query.set('state', 'A'.repeat(43)), '/?sign-in=failed'],
    ['an empty state', query => query.set('state', ''), '/?sign-in=failed'],
    ['no state', query => query.delete('state'), '/?sign-in=failed'],
    ['two states', query => query.append('state', query.get('state') ?? ''), '/?sign-in=failed'],
    ['another issuer', query => query.set('iss', 'https://evil.example'), '/?sign-in=failed'],
    ['no issuer, though the provider announces one', q => q.delete('iss'), '/?sign-in=failed'],
    ['no code', query => query.delete('code'), '/?sign-in=failed'],
    [
      'an ID token in addition to the code',
      query => query.set('id_token', 'a.b.c'),
      '/?sign-in=failed',
    ],
    ['no cookie', (_query, { client }) => client.cookies.clear(), '/?sign-in=expired'],
    [
      'a cookie that was changed',
      (_query, { client }) => {
        for (const [name, value] of client.cookies)
          client.cookies.set(
            name,
            value.replace(/.$/, last => (last === 'A' ? 'Q' : 'A')),
          )
      },
      '/?sign-in=expired',
    ],
    [
      'a cookie that is too old',
      (_query, { dashboard }) => (dashboard.clock.nowMs += defaults.signInMs),
      '/?sign-in=expired',
    ],
    [
      'the person pressed cancel',
      q => (q.delete('code'), q.set('error', 'access_denied')),
      '/?sign-in=cancelled',
    ],
    [
      'the provider failed',
      q => (q.delete('code'), q.set('error', 'server_error')),
      '/?sign-in=failed',
    ],
  ]
  const setup = await setUp(t)
  for (const [name, change, to] of cases) {
    setup.client.cookies.clear()
    const query = await leave(setup)
    change(query, setup)
    t.equal(await arrive(setup.client, query), to, name)
    t.notOk(await isSignedIn(setup.client), name)
  }
})

t.test('with https the cookie is bound to the host, and changes to its origin', async t => {
  const publicUrl = 'https://dashboard.example'
  const setup = await setUp(t, { dashboard: { publicUrl } })
  const { client, dashboard, provider } = setup
  const query = await leave(setup)
  const { headers, status } = await client.ask(`/callback?${query}`)
  t.equal(status, 303)
  const [cookie = ''] = headers.getSetCookie()
  t.match(cookie, /^__Host-slotline-session=[\w-]{43}; Path=\/; Max-Age=43200; HttpOnly; /)
  t.match(cookie, /; SameSite=Strict; Secure$/)
  t.equal(provider.exchanges[0]?.get('redirect_uri'), `${publicUrl}/callback`)
  t.ok(await isSignedIn(client))

  const [id = ''] = client.cookies.values()
  t.match(id, /^[\w-]{43}$/)
  const plain = new DashboardClient(dashboard.url)
  plain.cookies.set(`slotline-session-${dashboard.port}`, id)
  t.notOk(await isSignedIn(plain), 'a cookie without the __Host- prefix is ignored')
  t.equal((await client.call('POST', '/api/sign-out')).status, 403, 'the port behind the proxy')
  const origin = { origin: publicUrl }
  t.equal((await client.call('POST', '/api/sign-out', undefined, origin)).status, 200)
})

t.test('a sign-in of one browser is refused in another', async t => {
  const setup = await setUp(t)
  const query = await leave(setup)
  const victim = new DashboardClient(setup.dashboard.url)
  await victim.ask('/sign-in')
  t.equal(
    await arrive(victim, query),
    '/?sign-in=failed',
    'a planted callback does not sign the victim in',
  )
  t.notOk(await isSignedIn(victim))
})

t.test('a restart of the dashboard ends sign-ins in progress', async t => {
  const setup = await setUp(t)
  const query = await leave(setup)
  await setup.dashboard.restart()
  t.equal(await arrive(setup.client, query), '/?sign-in=expired')
})

t.test('an ID token must have the right signature, audience, time and nonce', async t => {
  const nowSeconds = Math.floor(Date.now() / 1_000)
  const other = 'another-client'
  const cases: [name: string, fault: ProviderFault, to: string][] = [
    ['nothing wrong', {}, '/'],
    ['our clock is a little late', { claims: { iat: nowSeconds + 5 } }, '/'],
    ['a password of an hour ago', { claims: { auth_time: nowSeconds - 3_600 } }, '/'],
    [
      'a password of the day before',
      { claims: { auth_time: nowSeconds - 86_400 } },
      '/?sign-in=stale',
    ],
    ['a password time that is a text', { claims: { auth_time: 'now' } }, '/?sign-in=failed'],
    [
      'two audiences, and we are the authorised one',
      { claims: { aud: [other, 'dashboard-under-test'], azp: 'dashboard-under-test' } },
      '/',
    ],
    ['another nonce', { claims: { nonce: 'B'.repeat(43) } }, '/?sign-in=failed'],
    ['no nonce', { claims: { nonce: undefined } }, '/?sign-in=failed'],
    ['another issuer', { claims: { iss: 'https://evil.example' } }, '/?sign-in=failed'],
    ['the issuer with a slash', { claims: { iss: 'http://127.0.0.1/' } }, '/?sign-in=failed'],
    ['no issuer', { claims: { iss: undefined } }, '/?sign-in=failed'],
    ['another audience', { claims: { aud: other } }, '/?sign-in=failed'],
    ['no audience', { claims: { aud: undefined } }, '/?sign-in=failed'],
    [
      'two audiences, and another is authorised',
      { claims: { aud: [other, 'dashboard-under-test'], azp: other } },
      '/?sign-in=failed',
    ],
    ['expired five minutes ago', { claims: { exp: nowSeconds - 300 } }, '/?sign-in=failed'],
    ['expired a moment ago', { claims: { exp: nowSeconds - 31 } }, '/?sign-in=failed'],
    ['no expiry', { claims: { exp: undefined } }, '/?sign-in=failed'],
    ['valid in five minutes', { claims: { nbf: nowSeconds + 300 } }, '/?sign-in=failed'],
    ['no time of issue', { claims: { iat: undefined } }, '/?sign-in=failed'],
    ['no subject', { claims: { sub: undefined } }, '/?sign-in=failed'],
    ['an empty subject', { claims: { sub: '' } }, '/?sign-in=failed'],
    ['a subject of 255 characters', { claims: { sub: 's'.repeat(255) } }, '/'],
    ['a subject of 256 characters', { claims: { sub: 's'.repeat(256) } }, '/?sign-in=failed'],
    ['a subject that is a number', { claims: { sub: 7 } }, '/?sign-in=failed'],
    ['signed by another key', { signer: 'other-key' }, '/?sign-in=failed'],
    ['not signed', { signer: 'none', header: { alg: 'none' } }, '/?sign-in=failed'],
    ['no signature under a good header', { signer: 'none' }, '/?sign-in=failed'],
    [
      'HS256 with our secret',
      { signer: 'client-secret', header: { alg: 'HS256' } },
      '/?sign-in=failed',
    ],
    [
      'HS256 with the public key',
      { signer: 'public-key', header: { alg: 'HS256' } },
      '/?sign-in=failed',
    ],
    ['by a key that the provider does not list', { header: { kid: 'other' } }, '/?sign-in=failed'],
    ['a changed claim', { alterToken: token => token.replace(/\.(.)/, '.X') }, '/?sign-in=failed'],
    ['no token at all', { alterToken: () => '' }, '/?sign-in=failed'],
    ['the token of an encryption', { alterToken: () => 'a.b.c.d.e' }, '/?sign-in=failed'],
  ]
  const setup = await setUp(t)
  for (const [name, fault, to] of cases) {
    setup.client.cookies.clear()
    setup.provider.fault = fault
    const query = await leave(setup)
    t.equal(await arrive(setup.client, query), to, name)
    t.equal(await isSignedIn(setup.client), to === '/', name)
  }
})

t.test('a faulty provider causes only bounded delays', async t => {
  const long = JSON.stringify({ access_token: 'a'.repeat(300_000) })
  const cases: [name: string, fault: ProviderFault, to: string][] = [
    [
      'refuses the code',
      { answer: { status: 400, body: '{"error":"invalid_grant"}' } },
      '/?sign-in=failed',
    ],
    ['breaks', { answer: { status: 500, body: 'canary-of-a-stack' } }, '/?sign-in=failed'],
    [
      'answers text',
      { answer: { status: 200, body: 'hello', type: 'text/plain' } },
      '/?sign-in=failed',
    ],
    [
      'answers half a document',
      { answer: { status: 200, body: '{"access_token":' } },
      '/?sign-in=failed',
    ],
    ['leads elsewhere', { answer: { status: 302, body: '' } }, '/?sign-in=failed'],
    ['sends an endless body', { answer: { status: 200, body: long } }, '/?sign-in=failed'],
    ['does not answer', { isUnresponsive: true }, '/?sign-in=unreachable'],
    [
      'names another person at the second request',
      { claims: { name: undefined }, userinfo: { sub: 'eve' } },
      '/?sign-in=failed',
    ],
  ]
  const setup = await setUp(t, { dashboard: { providerMs: 300 } })
  for (const [name, fault, to] of cases) {
    setup.client.cookies.clear()
    setup.provider.fault = fault
    const query = await leave(setup)
    t.equal(await arrive(setup.client, query), to, name)
    t.notOk(await isSignedIn(setup.client), name)
  }
  const logged = setup.dashboard.lines.join('\n')
  for (const secret of ['canary', setup.provider.nonce])
    t.notMatch(logged, secret, 'the log has the reason and no secret')
  t.match(logged, 'token endpoint: invalid_grant')
})

t.test('a discovery document must name its own issuer', async t => {
  const setup = await setUp(t)
  setup.provider.fault = { discovery: { issuer: 'https://evil.example' } }
  const { headers, status } = await setup.client.ask('/sign-in')
  t.equal(status, 303)
  t.equal(headers.get('location'), '/?sign-in=failed')
  setup.provider.fault = {}
  t.equal(
    await arrive(setup.client, await leave(setup)),
    '/',
    'the provider is queried again at the next sign-in',
  )
})

t.test('sign-ins in flight are limited', async t => {
  const setup = await setUp(t, { dashboard: { signInsInFlightMax: 1, providerMs: 300 } })
  const query = await leave(setup)
  setup.provider.fault = { isUnresponsive: true }
  const waiting = arrive(setup.client, query)
  while (setup.provider.exchanges.length === 0) await new Promise(resolve => setImmediate(resolve))
  const { headers } = await new DashboardClient(setup.dashboard.url).ask('/sign-in')
  t.equal(headers.get('location'), '/?sign-in=busy')
  t.equal(await waiting, '/?sign-in=unreachable')
})

t.test(
  'a name comes from the ID token or the user info; a default replaces an absent one',
  async t => {
    const setup = await setUp(t)
    const cases: [fault: ProviderFault, person: object][] = [
      [{}, { email: 'ada@test.example', name: 'Ada' }],
      [
        { claims: { email: undefined, name: undefined }, userinfo: { email: 'a@b.c', name: 'A' } },
        { email: 'a@b.c', name: 'A' },
      ],
      [{ claims: { name: undefined }, userinfo: {} }, { name: 'ada@test.example' }],
      [{ claims: { name: undefined, email: undefined } }, { email: '', name: 'ada' }],
      [{ claims: { name: 'n'.repeat(10_000) } }, { name: 'n'.repeat(256) }],
      [{ claims: { name: { evil: 1 } } }, { name: 'ada@test.example' }],
    ]
    for (const [fault, person] of cases) {
      setup.client.cookies.clear()
      setup.provider.fault = fault
      t.equal(await arrive(setup.client, await leave(setup)), '/')
      t.match((await setup.client.ask('/api/session')).json, { subject: 'ada', ...person })
    }
  },
)

t.test('an address is verified if its own source says so, with the boolean', async t => {
  const setup = await setUp(t)
  const isVerified = { email_verified: true }
  const [none, other] = [{ email: undefined }, { email: 'ben@test.example' }]
  const cases: [name: string, fault: ProviderFault, isVerified: boolean][] = [
    ['in the ID token', { claims: isVerified }, true],
    ['in the user info', { claims: none, userinfo: { ...other, ...isVerified } }, true],
    ['absent', {}, false],
    ...[false, 'true', 1, {}, [true], null].map((claim): (typeof cases)[number] => [
      JSON.stringify(claim),
      { claims: { email_verified: claim } },
      false,
    ]),
    [
      'of the address of the user info, with another one in the ID token',
      { claims: { name: undefined }, userinfo: { ...other, ...isVerified } },
      false,
    ],
    [
      'of no address in the ID token, with one in the user info',
      { claims: { ...none, ...isVerified }, userinfo: other },
      false,
    ],
    ['no text', { claims: { ...isVerified, email: ['ada@test.example'] } }, false],
    ['too long', { claims: { ...isVerified, email: `${'a'.repeat(300)}@b.cd` } }, false],
    ['with a blank', { claims: { ...isVerified, email: 'ada @test.example' } }, false],
  ]
  for (const [name, fault, expected] of cases) {
    setup.client.cookies.clear()
    setup.provider.fault = fault
    t.equal(await arrive(setup.client, await leave(setup)), '/', name)
    const { json } = await setup.client.ask('/api/session')
    t.equal(Object(json).isEmailVerified, expected, name)
  }
})

t.test('a real provider: signed in, cancelled, and a code used twice', async t => {
  const { url } = await startDashboard(t)
  const client = new DashboardClient(url)
  const back = await client.authorize(ADA)
  const twin = new DashboardClient(url)
  for (const [name, value] of client.cookies) twin.cookies.set(name, value)
  const first = await client.ask(back)
  t.equal(first.headers.get('location'), '/')
  const second = await twin.ask(back)
  t.equal(second.headers.get('location'), '/?sign-in=failed', 'the same code, with the same cookie')
  t.notOk(await isSignedIn(twin))
  t.equal((await client.ask(back)).headers.get('location'), '/?sign-in=expired')

  const other = new DashboardClient(url)
  t.equal(
    (await other.ask(await other.authorize(ADA, 'cancel'))).headers.get('location'),
    '/?sign-in=cancelled',
  )
  const wrong = await other.authorize({ ...ADA, password: 'wrong' })
  t.match(wrong, '/interaction/', 'another password leads nowhere')
  t.notOk(await isSignedIn(other))
})

t.test('no provider, and an unreachable provider', async t => {
  const nowhere = await startDashboard(t, { issuer: 'http://127.0.0.1:1' })
  const { headers } = await new DashboardClient(nowhere.url).ask('/sign-in')
  t.equal(headers.get('location'), '/?sign-in=unreachable')
  const without = await startDashboard(t, { dashboard: { identity: undefined } })
  for (const path of ['/sign-in', '/callback']) {
    const answer = await new DashboardClient(without.url).ask(path)
    t.equal(answer.headers.get('location'), '/?sign-in=unconfigured', path)
  }
})
