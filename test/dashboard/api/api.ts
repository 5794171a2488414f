import { unlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { AccessService } from '../../../src/access/service.js'
import { RpcError } from '../../../src/shared/errors.js'
import {
  ADA,
  BEN,
  EXPLORER_URL,
  LIMITS,
  NO_ACCESS_USAGE,
  NO_PLACE_USAGE,
  startDashboard,
  STREAMING_TARGET,
  SUBMISSION_VIEW,
  TIP_ACCOUNT,
  type TestDashboard,
} from '../../fixtures/dashboard/dashboard.js'
import { DashboardClient, type DashboardReply } from '../../fixtures/dashboard/dashboard-client.js'

const signIn = async ({ url }: TestDashboard, person = ADA): Promise<DashboardClient> => {
  const client = new DashboardClient(url)
  await client.signIn(person)
  return client
}

const pathOf = (accessId: string, location = 'fra', network = 'main'): string =>
  `/api/accesses/${accessId}/networks/${network}/locations/${location}`

/** Members of a JSON object; none if it is no object. */
const membersOf = ({ json }: DashboardReply): Readonly<Record<string, unknown>> =>
  typeof json === 'object' && json !== null ? { ...json } : {}

const TOKEN = /^slt_[0-9A-Za-z]{38}$/
t.test('accesses are those of the person, in every state', async t => {
  const dashboard = await startDashboard(t)
  const { accessService, grant } = dashboard
  const ada = await signIn(dashboard)
  t.strictSame((await ada.ask('/api/accesses')).json, { accesses: [] }, 'none at first')

  const day = 86_400_000
  const { nowMs } = dashboard.clock
  const made = {
    active: await grant('ada'),
    upcoming: await grant('ada', { kind: 'rental', validFromMs: nowMs + day }),
    over: await grant('ada', { validFromMs: nowMs - 2 * day, validUntilMs: nowMs }),
    ended: await grant('ada', { locations: ['fra'], product: 'gone', networks: ['old'] }),
  }
  await accessService.end(made.ended.accessId)
  await grant('ben')
  await accessService.generate({ ...made.active, network: 'main', location: 'nyc' })
  const { accesses } = membersOf(await ada.ask('/api/accesses')) as {
    accesses: { accessId: string; state: string }[]
  }
  const states = new Map(accesses.map(({ accessId, state }) => [accessId, state]))
  t.equal(states.size, 4)
  t.equal(states.get(made.active.accessId), 'active')
  t.equal(states.get(made.upcoming.accessId), 'upcoming')
  t.equal(states.get(made.over.accessId), 'ended', 'its end is exclusive')
  t.equal(states.get(made.ended.accessId), 'ended')
  const find = (id: string) => accesses.find(({ accessId }) => accessId === id)
  t.strictSame(find(made.active.accessId), {
    accessId: made.active.accessId,
    role: 'owner',
    kind: 'pass',
    label: '',
    state: 'active',
    product: { id: 'node', name: 'Node access', kind: 'node-access' },
    networks: [{ id: 'main', name: 'Mainnet' }],
    locations: [
      { id: 'fra', name: 'Frankfurt' },
      { id: 'nyc', name: 'New York' },
    ],
    limits: LIMITS,
    validFromMs: nowMs,
    validUntilMs: null,
    endedAtMs: null,
    tokens: [{ network: 'main', location: 'nyc' }],
  })
  t.match(
    find(made.ended.accessId),
    {
      product: { id: 'gone', name: 'gone' },
      networks: [{ id: 'old', name: 'old' }],
      endedAtMs: nowMs,
    },
    'a product that is no longer offered is shown by its id',
  )
})

t.test('a token is created, shown, changed and revoked', async t => {
  const dashboard = await startDashboard(t)
  const { clock, grant, accessService } = dashboard
  const ada = await signIn(dashboard)
  const { accessId } = await grant('ada')
  const fra = pathOf(accessId)
  t.strictSame((await ada.ask(fra)).json, { token: null })

  const made = await ada.call('POST', `${fra}/token`)
  t.equal(made.status, 201)
  const { secret, token } = membersOf(made) as { secret: string; token: { tokenId: string } }
  t.match(secret, TOKEN)
  const masked = `slt_••••••••${secret.slice(-4)}`
  const tips = [{ payee: 'lander', lamportsMin: 1_000_000, accounts: [TIP_ACCOUNT] }]
  const connection = {
    streamingTargets: [STREAMING_TARGET],
    submissionRoutes: ['/lander', '/lander-submit-bundle', '/lander-submit-batch', '/send'].map(
      path => ({ path, tips }),
    ),
  }
  const { tokenId } = token
  const info = { tokenId, masked, createdAtMs: clock.nowMs, address: null, former: null }
  t.strictSame(made.json, {
    token: info,
    rpcUrl: `https://fra.rpc.example/${secret}`,
    wsUrl: `wss://fra.rpc.example/${secret}`,
    ...connection,
    secret,
  })
  const panel = await ada.ask(fra)
  t.strictSame(panel.json, {
    token: info,
    rpcUrl: `https://fra.rpc.example/${masked}`,
    wsUrl: `wss://fra.rpc.example/${masked}`,
    ...connection,
  })
  t.match(await ada.call('POST', `${fra}/token`), {
    status: 409,
    json: { error: { code: 'tokenActive' } },
  })
  t.strictSame((await ada.call('POST', `${fra}/token/reveal`)).json, {
    token: secret,
    rpcUrl: `https://fra.rpc.example/${secret}`,
    wsUrl: `wss://fra.rpc.example/${secret}`,
  })

  const restriction = `${fra}/token/restriction`
  const restricted = await ada.call('PUT', restriction, { address: '8.8.4.4' })
  t.equal(restricted.status, 200)
  t.match(restricted.json, { token: { address: '8.8.4.4', masked }, rpcUrl: /••/ })
  t.notMatch(restricted.text, secret)

  clock.nowMs += 5
  const again = await ada.call('POST', `${fra}/token/regenerate`, {})
  t.equal(again.status, 200)
  const fresh = membersOf(again) as { secret: string; token: { tokenId: string } }
  t.match(fresh.secret, TOKEN)
  t.not(fresh.secret, secret)
  t.not(fresh.token.tokenId, token.tokenId)
  t.match(again.json, { token: { address: '8.8.4.4', createdAtMs: clock.nowMs } })
  t.match((await ada.call('PUT', restriction, { address: ' ' })).json, { token: { address: null } })

  const nyc = membersOf(await ada.call('POST', `${pathOf(accessId, 'nyc')}/token`))
  t.match(nyc['rpcUrl'], /^http:\/\/127\.0\.0\.1:2\/slt_/, 'a location without a public URL')
  const revoked = await ada.call('DELETE', `${fra}/token`)
  t.strictSame([revoked.status, revoked.text], [204, ''])
  t.strictSame((await ada.ask(fra)).json, { token: null })
  const withoutToken: [method: string, path: string, body?: unknown][] = [
    ['DELETE', '/token'],
    ['POST', '/token/regenerate'],
    ['POST', '/token/reveal'],
    ['PUT', '/token/restriction', { address: '8.8.4.4' }],
  ]
  for (const [method, path, body] of withoutToken)
    t.match(
      await ada.call(method, `${fra}${path}`, body),
      { status: 404, json: { error: { code: 'noToken' } } },
      `${method} ${path}`,
    )
  t.strictSame(
    accessService.list(accessId).map(({ location }) => location),
    ['nyc'],
    'the other location is unchanged',
  )
})

t.test('a restriction that is no public IPv4 address is refused with the reason', async t => {
  const dashboard = await startDashboard(t)
  const ada = await signIn(dashboard)
  const { accessId } = await dashboard.grant('ada')
  const path = `${pathOf(accessId)}/token`
  await ada.call('POST', path)
  const cases: [address: unknown, status: number, message: RegExp][] = [
    ['203.0.113.7', 422, /documentation/],
    ['10.0.0.1', 422, /private network/],
    ['8.8.8.8/32', 422, /range/],
    ['https://8.8.8.8', 422, /URL/],
    ['8.8.8.8:443', 422, /port/],
    ['8.8.8.8, 8.8.4.4', 422, /list/],
    ['2001:db8::1', 422, /IPv6/],
    ['example.com', 422, /host name/],
    ['a'.repeat(256), 422, /longer than/],
    ['a'.repeat(257), 400, /body\.address must be at most 256 characters/],
    [7, 400, /body\.address must be a text/],
    [null, 400, /body\.address must be a text/],
    [undefined, 400, /body\.address is missing/],
  ]
  for (const [address, status, message] of cases) {
    const answer = await ada.call('PUT', `${path}/restriction`, { address })
    t.equal(answer.status, status, String(address).slice(0, 40))
    t.match(answer.text, message)
    t.match(answer.json, { error: { code: status === 422 ? 'notPublicIpv4' : 'wrongInput' } })
  }
  t.match((await ada.ask(pathOf(accessId))).json, { token: { address: null } }, 'nothing was set')
})

t.test('an access of another person is answered like a missing one', async t => {
  const dashboard = await startDashboard(t)
  const ben = await signIn(dashboard, BEN)
  const { accessId } = await dashboard.grant('ada')
  const made = await dashboard.accessService.generate({
    accessId,
    network: 'main',
    location: 'fra',
  })
  const calls: [method: string, path: string, body?: unknown][] = [
    ['GET', ''],
    ['GET', '/usage'],
    ['POST', '/token'],
    ['POST', '/token/regenerate'],
    ['POST', '/token/reveal'],
    ['DELETE', '/token'],
    ['PUT', '/token/restriction', { address: '' }],
  ]
  for (const [method, end, body] of calls) {
    const theirs = await ben.call(method, `${pathOf(accessId)}${end}`, body)
    const nobodys = await ben.call(method, `${pathOf('acc_nothing')}${end}`, body)
    t.strictSame([theirs.status, theirs.text], [nobodys.status, nobodys.text], `${method} ${end}`)
    t.equal(theirs.status, 404)
  }
  for (const end of ['usage', 'submissions'])
    t.equal((await ben.ask(`/api/accesses/${accessId}/${end}`)).status, 404, end)
  t.strictSame((await ben.ask('/api/accesses')).json, { accesses: [] })
  t.equal(dashboard.accessService.list(accessId)[0]?.tokenId, made.tokenId)
})

t.test('a scope must be offered by the access', async t => {
  const dashboard = await startDashboard(t)
  const ada = await signIn(dashboard)
  const { accessId } = await dashboard.grant('ada', { locations: ['fra'] })
  const elsewhere: [path: string, what: string][] = [
    [pathOf(accessId, 'nyc'), 'location'],
    [pathOf(accessId, 'mars'), 'location'],
    [pathOf(accessId, 'fra', 'test'), 'network'],
    [pathOf(accessId, 'FRA'), 'location'],
  ]
  for (const [path, what] of elsewhere)
    for (const [method, end] of [
      ['GET', ''],
      ['GET', '/usage'],
      ['POST', '/token'],
      ['DELETE', '/token'],
    ])
      t.match(await ada.call(method ?? '', `${path}${end}`), {
        status: 404,
        json: { error: { message: `The access does not offer this ${what}` } },
      })
})

t.test('an access that is not valid allows no new token, only a revocation', async t => {
  const dashboard = await startDashboard(t)
  const { accessService, clock, grant } = dashboard
  const ada = await signIn(dashboard)
  const { accessId } = await grant('ada')
  await ada.call('POST', `${pathOf(accessId)}/token`)
  await accessService.end(accessId)
  const ended = { status: 403, json: { error: { code: 'accessEnded' } } }
  t.match(await ada.call('POST', `${pathOf(accessId, 'nyc')}/token`), ended)
  t.match(await ada.call('POST', `${pathOf(accessId)}/token/regenerate`), ended)
  t.match((await ada.ask(pathOf(accessId))).json, { token: { masked: /^slt_•{8}\w{4}$/ } })
  t.equal((await ada.call('DELETE', `${pathOf(accessId)}/token`)).status, 204)
  const later = await grant('ada', { validFromMs: clock.nowMs + 1 })
  t.match(await ada.call('POST', `${pathOf(later.accessId)}/token`), {
    status: 403,
    json: { error: { code: 'accessUpcoming' } },
  })
})

t.test('of two concurrent calls one creates the token, the other is refused', async t => {
  const dashboard = await startDashboard(t)
  const ada = await signIn(dashboard)
  const { accessId } = await dashboard.grant('ada')
  const path = `${pathOf(accessId)}/token`
  const answers = await Promise.all(Array.from({ length: 8 }, () => ada.call('POST', path)))
  t.strictSame(answers.map(({ status }) => status).sort(), [201, ...Array(7).fill(409)])
})

t.test('without the sealing key only operations that need it fail', async t => {
  const dataDir = t.testdir()
  const dashboard = await startDashboard(t, { dataDir })
  const { grant, accessService } = dashboard
  const { accessId } = await grant('ada')
  await accessService.generate({ accessId, network: 'main', location: 'fra' })
  await dashboard.store.close()
  unlinkSync(join(dataDir, 'access.key'))
  const after = await startDashboard(t, { dataDir })
  const ada = await signIn(after)
  const refused = { status: 503, json: { error: { code: 'sealingKey' } } }
  const answer = await ada.call('POST', `${pathOf(accessId)}/token/reveal`)
  t.match(answer, refused)
  t.notMatch(answer.text, dataDir, 'the reply contains no file path')
  t.match(after.lines.join(), 'access.key is missing', 'the operator is')
  t.match(await ada.call('POST', `${pathOf(accessId, 'nyc')}/token`), refused)
  t.equal((await ada.ask(pathOf(accessId))).status, 200)
  t.equal((await ada.call('DELETE', `${pathOf(accessId)}/token`)).status, 204)
})

t.test('a change that some edge has not confirmed is reported', async t => {
  const dashboard = await startDashboard(t, {
    accessService: (own: AccessService): AccessService => ({
      ...own,
      revoke: async scope => {
        await own.revoke(scope)
        throw new RpcError('notConfirmed')
      },
    }),
  })
  const ada = await signIn(dashboard)
  const { accessId } = await dashboard.grant('ada')
  await ada.call('POST', `${pathOf(accessId)}/token`)
  t.match(await ada.call('DELETE', `${pathOf(accessId)}/token`), {
    status: 503,
    json: { error: { code: 'notConfirmed' } },
  })
})

t.test('usage and submissions are returned', async t => {
  const minutes = [{ startMs: 60_000, requests: 4, errors: 1, rateLimited: 1, refused: 2 }]
  const refused = [{ atMs: 61_000, address: '8.8.8.8', reason: 'address' }]
  const now = {
    requestsPerSecond: 1.5,
    requestsLastSecond: 4,
    requestsInFlight: 2,
    sockets: 3,
    subscriptions: 9,
    subscriptionsOfSocket: 5,
    refused: { ...LIMITS, socketsMax: 7 },
  }
  const peakAt = (atMs: number, perSecond: number) => ({ startMs: atMs, perSecond, atMs })
  const peaks = [peakAt(0, 8), peakAt(900_000, 8), peakAt(1_800_000, 3)]
  const queried: unknown[] = []
  const replaced = [{ tail: 'abcd', address: '8.8.8.8', lastSeenMs: 7, today: 12 }]
  const dashboard = await startDashboard(t, {
    usage: {
      ...NO_PLACE_USAGE,
      ofScope: place => (queried.push(place), { minutes, refused, clients: [], replaced }),
      ofAccess: accessId => (queried.push(accessId), { ...NO_ACCESS_USAGE, ...now, peaks }),
    },
    submissions: (search, locations) => {
      queried.push([search, locations])
      return { submissions: [SUBMISSION_VIEW], next: null }
    },
  })
  const ada = await signIn(dashboard)
  const { accessId } = await dashboard.grant('ada')
  const scope = pathOf(accessId)
  t.strictSame((await ada.ask(`${scope}/usage`)).json, { minutes, refused, replaced })
  const usage = await ada.ask(`/api/accesses/${accessId}/usage`)
  const peak = { perSecond: 8, atMs: 900_000 }
  t.strictSame(usage.json, { limits: LIMITS, ...now, peak })
  const list = `/api/accesses/${accessId}/submissions`
  t.strictSame((await ada.ask(list)).json, {
    submissions: [SUBMISSION_VIEW],
    next: null,
    explorers: [{ network: 'main', url: EXPLORER_URL }],
  })
  await ada.ask(`${list}?limit=1`)
  await ada.ask(`${list}?limit=200`)
  const place = { accessId, network: 'main', location: 'fra' }
  const asked = [50, 1, 200].map(limit => [{ accessId, limit }, ['fra', 'nyc']])
  t.strictSame(queried, [place, accessId, ...asked])
  const wrong = ['0', '201', '999', '1000', '-1', '1.5', '1e1', '', ' 1', '01', 'x', '٣']
  for (const limit of wrong)
    t.match(
      await ada.ask(`${list}?limit=${encodeURIComponent(limit)}`),
      {
        status: 400,
        json: { error: { message: /^query\.limit must be an integer from 1 to 200/ } },
      },
      JSON.stringify(limit),
    )
  t.match((await ada.ask(`${list}?limit=1&limit=2`)).json, {
    error: { message: 'query has a parameter twice' },
  })
  t.match((await ada.ask(`${list}?order=asc`)).json, {
    error: { message: 'query.order is unknown' },
  })
})

t.test('the documentation is where the operator says it is', async t => {
  const docsUrl = 'https://docs.example/slotline'
  const ada = await signIn(await startDashboard(t, { dashboard: { docsUrl } }))
  t.strictSame((await ada.ask('/api/accesses')).json, { accesses: [], docsUrl })
})
