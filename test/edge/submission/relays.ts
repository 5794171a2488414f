import { request } from 'node:http'
import t from 'tap'
import { sendBundle, TIPS } from '../../fixtures/submission/relay.js'
import { exchange, post as toPost } from '../../fixtures/server/server.js'
import { until } from '../../fixtures/until.js'
import {
  FULL,
  NAMES,
  NETWORK_ROUTES,
  PATHS,
  ask,
  bundleFor,
  engineOf,
  floorsOf,
  openRelayNetworks,
} from '../../fixtures/submission/relay-networks.js'

t.test(
  'each route of each network sends to its own engine, without headers of the client',
  async t => {
    const { send, receivedBy, counts, engines, tokens, edges } = await openRelayNetworks(t)
    const own = {
      'content-type': 'application/json; charset=utf-8',
      cookie: 'a=b',
      authorization: 'Bearer client',
      'x-api-key': 'client',
      'x-token': 'client',
      'x-jito-auth': 'client',
      'x-forwarded-for': '1.2.3.4',
      forwarded: 'for=1.2.3.4',
      'user-agent': 'client/1',
      origin: 'https://client.example',
      referer: 'https://client.example/',
      te: 'trailers',
      trailer: 'x',
      'keep-alive': 'timeout=5',
      'proxy-connection': 'keep-alive',
      'proxy-authorization': 'Basic client',
      upgrade: 'h2c',
      accept: 'text/html',
      'accept-encoding': 'gzip',
    }
    for (const networkRoute of NETWORK_ROUTES) {
      const before = counts()
      const texts = bundleFor(networkRoute)
      const bodies: [call: string, asked: RegExp][] = [
        [sendBundle(networkRoute.route, texts, 'mine'), /"method":"sendBundle"/],
        ...(networkRoute.route === '/relay-bundle'
          ? ['getBundleStatuses', 'getInflightBundleStatuses'].map((method): [string, RegExp] => [
              ask(method, [['ab'.repeat(32)]]),
              new RegExp(`"method":"${method}"`),
            ])
          : []),
      ]
      for (const [body, asked] of bodies) {
        receivedBy(networkRoute).length = 0
        const { status, json } = await send(networkRoute, body, { headers: own })
        t.equal(status, 200)
        const about = `${networkRoute.network} ${networkRoute.route} ${String(asked)}`
        t.ok(json.result, `${about}: ${JSON.stringify(json.error)}`)
        const [seen, ...more] = receivedBy(networkRoute)
        t.strictSame(more, [], 'asked once')
        t.match(seen?.body.toString(), asked)
        const { credential, credentialIn } = networkRoute
        const query = credentialIn === 'query' ? `?uuid=${credential}` : ''
        t.strictSame(seen?.head.split('\r\n').toSorted(), [
          `POST ${PATHS[networkRoute.route]}${query} HTTP/1.1`,
          'accept-encoding: identity',
          'accept: application/json',
          'connection: keep-alive',
          `content-length: ${seen?.body.length}`,
          'content-type: application/json',
          `host: 127.0.0.1:${engines.get(networkRoute)?.port}`,
          ...(credentialIn === 'header' ? [`${NAMES[networkRoute.route]}: ${credential}`] : []),
        ])
        t.notMatch(seen?.body.toString(), tokens[networkRoute.network] ?? '-')
      }
      t.strictSame(
        counts().filter((_, nth) => NETWORK_ROUTES[nth] !== networkRoute),
        before.filter((_, nth) => NETWORK_ROUTES[nth] !== networkRoute),
        'no other engine is asked',
      )
    }
    const page = await edges[0].metrics()
    for (const { network, route, credential } of NETWORK_ROUTES) {
      const labels = `process="edge 0",network="${network}",route="${route}"`
      t.match(page, `slotline_relay_calls_total{${labels},method="sendBundle",outcome="ok"} 1`)
      const sent = labels.replace('edge 0', 'sender')
      t.match(page, `slotline_relay_forward_seconds_count{${sent}} 1`)
      t.notMatch(page + edges[0].lines.join(), credential)
    }
  },
)

t.test('each has tip accounts and floors of its own', async t => {
  const { send, counts } = await openRelayNetworks(t)
  for (const networkRoute of NETWORK_ROUTES) {
    const check = async (texts: string[]): Promise<unknown> => {
      const { json } = await send(networkRoute, sendBundle(networkRoute.route, texts))
      return json.error?.message ?? 'accepted'
    }
    t.equal(await check(bundleFor(networkRoute)), 'accepted', 'at both floors')
    t.equal(await check(bundleFor(networkRoute, { service: -1 })), floorsOf(networkRoute))
    t.equal(await check(bundleFor(networkRoute, { engine: -1 })), floorsOf(networkRoute))
    const others = NETWORK_ROUTES.find(({ tips }) => tips !== networkRoute.tips)
    if (others !== undefined)
      t.equal(
        await check(bundleFor(others, { service: 10_000_000, engine: 10_000 })),
        floorsOf(networkRoute),
        'tips to another engine are none',
      )
    const { json } = await send(networkRoute, ask('getServiceTipConfig', []))
    t.strictSame(json.result, {
      serviceTipAccounts: TIPS[networkRoute.tips].service,
      serviceTipFloorLamports: networkRoute.serviceFloor,
      bundleEngineTipAccounts: TIPS[networkRoute.tips].engine,
      bundleEngineTipFloorLamports: networkRoute.engineFloor,
    })
    const tips = await send(networkRoute, ask('getTipAccounts', []))
    t.strictSame(tips.json.result, TIPS[networkRoute.tips].engine)
  }
  t.strictSame(counts(), [1, 1, 1, 1])
})

t.test('each has a rate of its own, which all edges share', async t => {
  const BURST = 4
  const { send, counts } = await openRelayNetworks(t, {
    edgeCount: 2,
    section: () => ({ requestsPerSecondMax: 1, requestsBurstMax: BURST }),
  })
  const startMs = performance.now()
  for (const [nth, networkRoute] of NETWORK_ROUTES.entries()) {
    const outcomes: unknown[] = []
    for (let sent = 0; sent < 2 * BURST; sent++) {
      const { status, headers, json } = await send(
        networkRoute,
        sendBundle(networkRoute.route, bundleFor(networkRoute)),
        {
          edge: sent % 2,
        },
      )
      t.equal(status, 200)
      outcomes.push(json.error?.code)
      if (json.error === undefined) continue
      t.strictSame(json.error, FULL)
      t.equal(headers['retry-after'], '1')
    }
    // One more for each second that has passed meanwhile.
    const most = BURST + Math.ceil((performance.now() - startMs) / 1_000)
    const taken = outcomes.filter(code => code === undefined).length
    t.ok(
      taken >= BURST && taken <= most,
      `${taken} of ${networkRoute.network} ${networkRoute.route}`,
    )
    t.strictSame(outcomes.slice(0, BURST), Array(BURST).fill(undefined), 'the first ones')
    t.equal(counts()[nth], taken, 'what was refused did not reach the engine')
  }
})

t.test('refused and joined bundles do not count against the rate', async t => {
  const waiting: (() => void)[] = []
  const { send, receivedBy } = await openRelayNetworks(t, {
    edgeCount: 2,
    section: () => ({ requestsPerSecondMax: 1, requestsBurstMax: 1 }),
    script: networkRoute => (socket, received) =>
      void waiting.push(() => engineOf(networkRoute, () => [])(socket, received)),
  })
  const [, , , networkRoute] = NETWORK_ROUTES
  if (networkRoute === undefined) return
  const { route } = networkRoute
  const poor = bundleFor(networkRoute, { service: -1 })
  const refusals: [texts: string[], message: string][] = [
    [[], 'sendBundle holds no transaction'],
    [['?'], 'transaction 0 is not canonical padded base64'],
    [[poor[0] ?? '', poor[0] ?? ''], 'transactions 0 and 1 are the same'],
    [poor, floorsOf(networkRoute)],
  ]
  const refuseAll = async (when: string): Promise<void> => {
    for (const [texts, message] of refusals) {
      const { json } = await send(networkRoute, sendBundle(route, texts))
      t.strictSame(json.error, { code: -32_602, message }, when)
    }
  }
  await refuseAll('with the rate untouched')
  const body = sendBundle(route, bundleFor(networkRoute))
  const first = send(networkRoute, body)
  await until('it is in flight', () => waiting.length === 1)
  const joined = [send(networkRoute, body), send(networkRoute, body, { edge: 1 })]
  const other = await send(networkRoute, sendBundle(route, bundleFor(networkRoute)))
  t.strictSame(other.json.error, FULL, 'the only request of this second is in flight')
  await refuseAll('with the rate used up: invalid bundles are refused first')
  waiting.forEach(go => go())
  const answered = await Promise.all([first, ...joined])
  t.equal(new Set(answered.map(({ json }) => json.result)).size, 1)
  t.ok(answered.every(({ json }) => json.error === undefined))
  t.equal(receivedBy(networkRoute).length, 1)
})

t.test('tip accounts that differ from the configured are reported for their route', async t => {
  const wrong = NETWORK_ROUTES[1]
  const stranger = TIPS['/relay'].service[0] ?? ''
  const { edges, receivedBy } = await openRelayNetworks(t, {
    section: () => ({ tipCheckMs: 3_600_000 }),
    tipAccounts: networkRoute =>
      networkRoute === wrong
        ? [...TIPS[networkRoute.tips].engine.slice(1), stranger]
        : TIPS[networkRoute.tips].engine,
  })
  const [edge] = edges
  const differs = (page: string): string[] =>
    [
      ...page.matchAll(/^slotline_relay_tips_differ\{.*,network="(\w+)",route="(.*)"\} (\d)$/gm),
    ].map(([, network, route, value]) => `${network} ${route} ${value}`)
  await until('all engines were asked', () =>
    NETWORK_ROUTES.every(one => receivedBy(one).length === 1),
  )
  await until('the metric is set', async () =>
    differs(await edge.metrics()).includes('main /relay-bundle 1'),
  )
  t.strictSame(differs(await edge.metrics()).toSorted(), [
    'dev /relay 0',
    'dev /relay-bundle 0',
    'main /relay 0',
    'main /relay-bundle 1',
  ])
  const warnings = edge.lines.filter(line => line.includes('other tip accounts'))
  t.equal(warnings.length, 1)
  t.match(JSON.parse(warnings[0] ?? '{}'), {
    level: 'warn',
    network: 'main',
    route: '/relay-bundle',
    notConfigured: [stranger],
    notOfTheEngine: [TIPS['/relay-bundle'].engine[0]],
  })
})

const UUID_7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

t.test('every answer of a relay route has a submission id, whatever it refuses', async t => {
  const { edges, tokens, newToken, counts } = await openRelayNetworks(t)
  const [{ port }] = edges
  const restricted = await newToken({ network: 'main', address: '8.8.8.8' })
  const slow = await newToken({
    network: 'main',
    limits: { requestsPerSecondMax: 1, requestsBurstMax: 1 },
  })
  const tips = ask('getTipAccounts', [])
  const token = tokens['main']
  const type = 'Content-Type: application/json'
  const seen = new Set<string>()
  for (const route of ['/relay', '/relay-bundle']) {
    const mine = `/${token}${route}`
    if (route === '/relay') await exchange(port, toPost(`/${slow}${route}`, tips, [type]))
    const cases: [name: string, bytes: string, status: string][] = [
      ['a call', toPost(mine, tips, [type]), '200'],
      ['no call', toPost(mine, '{', [type]), '200'],
      ['no token', toPost(route, tips, [type]), '401'],
      ['a token that is none', toPost(`/slt_x${route}`, tips, [type]), '401'],
      ['another address', toPost(`/${restricted}${route}`, tips, [type]), '403'],
      ['a network without it', toPost(`/${tokens['bare']}${route}`, tips, [type]), '404'],
      ['another verb', `GET ${mine} HTTP/1.1\r\nHost: a\r\n\r\n`, '405'],
      ['too long', toPost(mine, ' '.repeat(70_000), [type]), '413'],
      ['another type', toPost(mine, tips, ['Content-Type: text/plain']), '415'],
      ['over the rate', toPost(`/${slow}${route}`, tips, [type]), '429'],
      ['two lengths', toPost(mine, tips, [type, 'Content-Length: 1']), '400'],
    ]
    for (const [name, bytes, status] of cases) {
      const reply = await exchange(port, bytes)
      t.equal(reply.slice(9, 12), status, `${route}: ${name}`)
      const ids = [...reply.matchAll(/^x-relay-submission-id: (.*)\r$/gim)].map(
        ([, id]) => id ?? '',
      )
      t.equal(ids.length, 1, `${route}: ${name}: one id`)
      t.match(ids[0], UUID_7)
      seen.add(ids[0] ?? '')
    }
    t.equal(seen.size, route === '/relay' ? cases.length : 2 * cases.length, 'all different')
  }
  t.strictSame(counts(), [0, 0, 0, 0])
})

t.test('a body in chunks is accepted', async t => {
  const { edges, tokens, receivedBy } = await openRelayNetworks(t)
  const [networkRoute] = NETWORK_ROUTES
  if (networkRoute === undefined) return
  const body = sendBundle(networkRoute.route, bundleFor(networkRoute))
  const status = await new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' }
    const path = `/${tokens['main']}${networkRoute.route}`
    const sent = request(
      { port: edges[0].port, host: '127.0.0.1', path, method: 'POST', headers },
      response => {
        response.resume().on('end', () => resolve(response.statusCode))
      },
    ).on('error', reject)
    for (let at = 0; at < body.length; at += 100) sent.write(body.slice(at, at + 100))
    sent.end()
  })
  t.equal(status, 200)
  const [seen] = receivedBy(networkRoute)
  t.match(seen?.head, `content-length: ${seen?.body.length}`)
  t.notMatch(seen?.head, /transfer-encoding/i)
  t.strictSame(JSON.parse(seen?.body.toString() ?? '').params[0], JSON.parse(body).params[0])
})
