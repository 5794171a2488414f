import bs58 from 'bs58'
import { createHash } from 'node:crypto'
import { request } from 'node:http'
import t, { type Test } from 'tap'
import type { RelayRoute } from '../../src/submission/store/submission.js'
import {
  answer,
  openRawUpstream,
  type RawUpstream,
  type Script,
} from '../fixtures/submission/raw-upstream.js'
import { openRelayEdges } from '../fixtures/submission/relay-edges.js'
import {
  base64,
  post,
  QUALIFYING,
  sendBundle,
  TIPS,
  toTransaction,
  type Answered,
} from '../fixtures/submission/relay.js'
import { exchange, post as toPost } from '../fixtures/server/server.js'
import { until } from '../fixtures/until.js'

/** A relay route of a network. Each has another engine, key, floors and tip accounts. */
type Place = {
  readonly network: 'main' | 'dev'
  readonly route: RelayRoute
  /** Whose tip accounts it has: those of two places would otherwise need four sets. */
  readonly tips: RelayRoute
  readonly serviceFloor: number
  readonly engineFloor: number
  readonly credential: string
  readonly credentialIn: 'header' | 'query'
}
const PLACES: readonly Place[] = [
  {
    network: 'main',
    route: '/relay',
    tips: '/relay',
    serviceFloor: 1_000_000,
    engineFloor: 1_000,
    credential: 'key-of-main-relay',
    credentialIn: 'header',
  },
  {
    network: 'main',
    route: '/relay-bundle',
    tips: '/relay-bundle',
    serviceFloor: 2_000_000,
    engineFloor: 2_000,
    credential: 'key-of-main-bundle',
    credentialIn: 'query',
  },
  {
    network: 'dev',
    route: '/relay',
    tips: '/relay-bundle',
    serviceFloor: 3_000_000,
    engineFloor: 3_000,
    credential: 'key-of-dev-relay',
    credentialIn: 'query',
  },
  {
    network: 'dev',
    route: '/relay-bundle',
    tips: '/relay',
    serviceFloor: 4_000_000,
    engineFloor: 4_000,
    credential: 'key-of-dev-bundle',
    credentialIn: 'header',
  },
]

const PATHS: Readonly<Record<RelayRoute, string>> = {
  '/relay': '/iris',
  '/relay-bundle': '/api/v1/bundles',
}
const NAMES: Readonly<Record<RelayRoute, string>> = {
  '/relay': 'x-api-key',
  '/relay-bundle': 'x-jito-auth',
}

const signatureOf = (text: string): string =>
  bs58.encode(Buffer.from(text, 'base64').subarray(1, 65))
const idOf = (texts: readonly string[]): string =>
  createHash('sha256').update(texts.map(signatureOf).join(',')).digest('hex')

/** An engine that takes everything and has these tip accounts. */
const engineOf =
  ({ route }: Place, tipAccounts: () => readonly string[]): Script =>
  (socket, { body }) => {
    const { id, method, params } = JSON.parse(body.toString())
    const [texts] = params
    const result =
      method === 'getTipAccounts'
        ? tipAccounts()
        : method !== 'sendBundle'
          ? { context: { slot: 1 }, value: [] }
          : route === '/relay'
            ? texts.map(signatureOf)
            : idOf(texts)
    socket.write(answer(JSON.stringify({ jsonrpc: '2.0', result, id })))
  }

const sectionOf = (place: Place, url: string, more: object) => ({
  upstream: {
    urls: [url],
    credential: place.credential,
    credentialIn: place.credentialIn,
    ...(place.credentialIn === 'query' && { credentialName: 'uuid' }),
  },
  serviceTipAddresses: TIPS[place.tips].service,
  engineTipAddresses: TIPS[place.tips].engine,
  serviceTipFloorLamports: place.serviceFloor,
  engineTipFloorLamports: place.engineFloor,
  requestsPerSecondMax: 100_000,
  requestsBurstMax: 100_000,
  tipCheckMs: 0,
  ...more,
})

type Options = {
  readonly edgeCount?: number
  /** Of every section, or of each its own. */
  readonly section?: (place: Place) => object
  /** What an engine says that its tip accounts are. */
  readonly tipAccounts?: (place: Place) => readonly string[]
  readonly script?: (place: Place) => Script
}

/**
 * Two networks with two relay routes each, and an engine behind each of the four; a third network
 * has none.
 */
const open = async (t: Test, options: Options = {}) => {
  const { edgeCount = 1, section = () => ({}) } = options
  const { tipAccounts = ({ tips }: Place) => TIPS[tips].engine } = options
  const engines = new Map<Place, RawUpstream>()
  for (const place of PLACES)
    engines.set(
      place,
      await openRawUpstream(
        t,
        options.script?.(place) ?? engineOf(place, () => tipAccounts(place)),
      ),
    )
  const sectionAt = (network: string, route: RelayRoute) => {
    const place = PLACES.find(one => one.network === network && one.route === route)
    const url = place && engines.get(place)?.url
    return place && url && sectionOf(place, url, section(place))
  }
  const networks = ['main', 'dev'].map(id => ({
    id,
    relay: sectionAt(id, '/relay') || {},
    relayBundle: sectionAt(id, '/relay-bundle') || {},
  }))
  const made = await openRelayEdges(t, [...networks, { id: 'bare' }], edgeCount)
  const send = (
    { network, route }: Pick<Place, 'network' | 'route'>,
    body: string,
    { edge = 0, headers = {} }: { edge?: number; headers?: Record<string, string> } = {},
  ): Promise<Answered> =>
    post(made.edges[edge]?.port ?? 0, `/${made.tokens[network]}${route}`, body, headers)
  const receivedBy = (place: Place) => engines.get(place)?.received ?? []
  const counts = (): number[] => PLACES.map(place => receivedBy(place).length)
  return { ...made, engines, send, receivedBy, counts }
}

let nonce = 0
/** A bundle of one that pays so much to the tip accounts of a place. */
const bundleFor = (
  { tips, serviceFloor, engineFloor }: Place,
  { service = 0, engine = 0 } = {},
): string[] => [
  base64(
    toTransaction(tips, {
      ...QUALIFYING,
      name: `bundle ${nonce++}`,
      serviceLamports: BigInt(serviceFloor + service),
      engineLamports: BigInt(engineFloor + engine),
    }),
  ),
]

const floorsOf = ({ serviceFloor, engineFloor }: Place): string =>
  `one bundle member must pay at least the service tip floor (${serviceFloor} lamports) and the bundle-engine tip floor (${engineFloor} lamports) and include an application instruction with a writable static account`
const FULL = { code: -32_010, message: 'Bundle-engine capacity exhausted' }
const ask = (method: string, params: unknown): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })

t.test(
  'each route of each network asks its own engine, and says nothing of its client',
  async t => {
    const { send, receivedBy, counts, engines, tokens, edges } = await open(t)
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
    for (const place of PLACES) {
      const before = counts()
      const texts = bundleFor(place)
      const bodies: [call: string, asked: RegExp][] = [
        [sendBundle(place.route, texts, 'mine'), /"method":"sendBundle"/],
        ...(place.route === '/relay-bundle'
          ? ['getBundleStatuses', 'getInflightBundleStatuses'].map((method): [string, RegExp] => [
              ask(method, [['ab'.repeat(32)]]),
              new RegExp(`"method":"${method}"`),
            ])
          : []),
      ]
      for (const [body, asked] of bodies) {
        receivedBy(place).length = 0
        const { status, json } = await send(place, body, { headers: own })
        t.equal(status, 200)
        t.ok(json.result, `${place.network} ${place.route} ${String(asked)}`)
        const [seen, ...more] = receivedBy(place)
        t.strictSame(more, [], 'asked once')
        t.match(seen?.body.toString(), asked)
        const { credential, credentialIn } = place
        const query = credentialIn === 'query' ? `?uuid=${credential}` : ''
        t.strictSame(seen?.head.split('\r\n').toSorted(), [
          `POST ${PATHS[place.route]}${query} HTTP/1.1`,
          'accept: application/json',
          'connection: keep-alive',
          `content-length: ${seen?.body.length}`,
          'content-type: application/json',
          `host: 127.0.0.1:${engines.get(place)?.port}`,
          ...(credentialIn === 'header' ? [`${NAMES[place.route]}: ${credential}`] : []),
        ])
        t.notMatch(seen?.body.toString(), tokens[place.network] ?? '-')
      }
      t.strictSame(
        counts().filter((_, nth) => PLACES[nth] !== place),
        before.filter((_, nth) => PLACES[nth] !== place),
        'and no other engine is',
      )
    }
    const page = await edges[0].metrics()
    for (const { network, route, credential } of PLACES) {
      const labels = `process="edge 0",network="${network}",route="${route}"`
      t.match(page, `slotline_relay_calls_total{${labels},method="sendBundle",outcome="ok"} 1`)
      t.match(page, `slotline_relay_forward_seconds_count{${labels}} 1`)
      t.notMatch(page + edges[0].lines.join(), credential)
    }
  },
)

t.test('each has tip accounts and floors of its own', async t => {
  const { send, counts } = await open(t)
  for (const place of PLACES) {
    const judge = async (texts: string[]): Promise<unknown> => {
      const { json } = await send(place, sendBundle(place.route, texts))
      return json.error?.message ?? 'taken'
    }
    t.equal(await judge(bundleFor(place)), 'taken', 'at both floors')
    t.equal(await judge(bundleFor(place, { service: -1 })), floorsOf(place))
    t.equal(await judge(bundleFor(place, { engine: -1 })), floorsOf(place))
    const others = PLACES.find(({ tips }) => tips !== place.tips)
    if (others !== undefined)
      t.equal(
        await judge(bundleFor(others, { service: 10_000_000, engine: 10_000 })),
        floorsOf(place),
        'tips to another engine are none',
      )
    const { json } = await send(place, ask('getServiceTipConfig', []))
    t.strictSame(json.result, {
      serviceTipAccounts: TIPS[place.tips].service,
      serviceTipFloorLamports: place.serviceFloor,
      bundleEngineTipAccounts: TIPS[place.tips].engine,
      bundleEngineTipFloorLamports: place.engineFloor,
    })
    const tips = await send(place, ask('getTipAccounts', []))
    t.strictSame(tips.json.result, TIPS[place.tips].engine)
  }
  t.strictSame(counts(), [1, 1, 1, 1])
})

t.test('each has a rate of its own, which all edges share', async t => {
  const BURST = 4
  const { send, counts } = await open(t, {
    edgeCount: 2,
    section: () => ({ requestsPerSecondMax: 1, requestsBurstMax: BURST }),
  })
  const startMs = performance.now()
  for (const [nth, place] of PLACES.entries()) {
    const outcomes: unknown[] = []
    for (let sent = 0; sent < 2 * BURST; sent++) {
      const { status, headers, json } = await send(
        place,
        sendBundle(place.route, bundleFor(place)),
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
    t.ok(taken >= BURST && taken <= most, `${taken} of ${place.network} ${place.route}`)
    t.strictSame(outcomes.slice(0, BURST), Array(BURST).fill(undefined), 'the first ones')
    t.equal(counts()[nth], taken, 'what was refused did not reach the engine')
  }
})

t.test('what a check refuses, and who joins, takes nothing of the rate', async t => {
  const held: (() => void)[] = []
  const { send, receivedBy } = await open(t, {
    edgeCount: 2,
    section: () => ({ requestsPerSecondMax: 1, requestsBurstMax: 1 }),
    script: place => (socket, received) =>
      void held.push(() => engineOf(place, () => [])(socket, received)),
  })
  const [, , , place] = PLACES
  if (place === undefined) return
  const { route } = place
  const poor = bundleFor(place, { service: -1 })
  const refusals: [texts: string[], message: string][] = [
    [[], 'sendBundle holds no transaction'],
    [['?'], 'transaction 0 is not canonical padded base64'],
    [[poor[0] ?? '', poor[0] ?? ''], 'transactions 0 and 1 are the same'],
    [poor, floorsOf(place)],
  ]
  const refuseAll = async (when: string): Promise<void> => {
    for (const [texts, message] of refusals) {
      const { json } = await send(place, sendBundle(route, texts))
      t.strictSame(json.error, { code: -32_602, message }, when)
    }
  }
  await refuseAll('with the rate untouched')
  const body = sendBundle(route, bundleFor(place))
  const first = send(place, body)
  await until('it is in flight', () => held.length === 1)
  const joined = [send(place, body), send(place, body, { edge: 1 })]
  const other = await send(place, sendBundle(route, bundleFor(place)))
  t.strictSame(other.json.error, FULL, 'the only request of this second is in flight')
  await refuseAll('with the rate used up: what is wrong is told before')
  held.forEach(go => go())
  const answered = await Promise.all([first, ...joined])
  t.equal(new Set(answered.map(({ json }) => json.result)).size, 1)
  t.ok(answered.every(({ json }) => json.error === undefined))
  t.equal(receivedBy(place).length, 1)
})

t.test('an engine with other tip accounts than the configured shows, for its route', async t => {
  const wrong = PLACES[1]
  const stranger = TIPS['/relay'].service[0] ?? ''
  const { edges, receivedBy } = await open(t, {
    section: () => ({ tipCheckMs: 3_600_000 }),
    tipAccounts: place =>
      place === wrong ? [...TIPS[place.tips].engine.slice(1), stranger] : TIPS[place.tips].engine,
  })
  const [edge] = edges
  const differs = (page: string): string[] =>
    [
      ...page.matchAll(/^slotline_relay_tips_differ\{.*,network="(\w+)",route="(.*)"\} (\d)$/gm),
    ].map(([, network, route, value]) => `${network} ${route} ${value}`)
  await until('all engines were asked', () => PLACES.every(one => receivedBy(one).length === 1))
  await until('the metric tells', async () =>
    differs(await edge.metrics()).includes('main /relay-bundle 1'),
  )
  t.strictSame(differs(await edge.metrics()).toSorted(), [
    'dev /relay 0',
    'dev /relay-bundle 0',
    'main /relay 0',
    'main /relay-bundle 1',
  ])
  const told = edge.lines.filter(line => line.includes('other tip accounts'))
  t.equal(told.length, 1)
  t.match(JSON.parse(told[0] ?? '{}'), {
    level: 'warn',
    network: 'main',
    route: '/relay-bundle',
    notConfigured: [stranger],
    notOfTheEngine: [TIPS['/relay-bundle'].engine[0]],
  })
})

const UUID_7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

t.test('every answer of a relay route has a submission id, whatever it refuses', async t => {
  const { edges, tokens, newToken, counts } = await open(t)
  const [{ port }] = edges
  const elsewhere = await newToken({ network: 'main', address: '8.8.8.8' })
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
      ['another address', toPost(`/${elsewhere}${route}`, tips, [type]), '403'],
      ['a network without it', toPost(`/${tokens['bare']}${route}`, tips, [type]), '404'],
      ['another verb', `GET ${mine} HTTP/1.1\r\nHost: a\r\n\r\n`, '405'],
      ['too long', toPost(mine, ' '.repeat(70_000), [type]), '413'],
      ['another type', toPost(mine, tips, ['Content-Type: text/plain']), '415'],
      ['over the rate', toPost(`/${slow}${route}`, tips, [type]), '429'],
      ['two lengths', toPost(mine, tips, [type, 'Content-Length: 1']), '400'],
    ]
    for (const [name, bytes, status] of cases) {
      const heard = await exchange(port, bytes)
      t.equal(heard.slice(9, 12), status, `${route}: ${name}`)
      const ids = [...heard.matchAll(/^x-relay-submission-id: (.*)\r$/gim)].map(
        ([, id]) => id ?? '',
      )
      t.equal(ids.length, 1, `${route}: ${name}: one id`)
      t.match(ids[0], UUID_7)
      seen.add(ids[0] ?? '')
    }
    t.equal(seen.size, route === '/relay' ? cases.length : 2 * cases.length, 'each another one')
  }
  t.strictSame(counts(), [0, 0, 0, 0])
})

t.test('a body in chunks is a body', async t => {
  const { edges, tokens, receivedBy } = await open(t)
  const [place] = PLACES
  if (place === undefined) return
  const body = sendBundle(place.route, bundleFor(place))
  const status = await new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' }
    const path = `/${tokens['main']}${place.route}`
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
  const [seen] = receivedBy(place)
  t.match(seen?.head, `content-length: ${seen?.body.length}`)
  t.notMatch(seen?.head, /transfer-encoding/i)
  t.strictSame(JSON.parse(seen?.body.toString() ?? '').params[0], JSON.parse(body).params[0])
})
