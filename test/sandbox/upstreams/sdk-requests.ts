// The dev servers against requests of sol-trade-sdk, and our lanes against the same.
import { request } from 'undici'
import t, { type Test } from 'tap'
import { openBundleEngine } from '../../../src/sandbox/upstreams/bundle-engine.js'
import { CREDENTIALS } from '../../../src/sandbox/upstreams/credentials.js'
import { openDevLander } from '../../../src/sandbox/upstreams/lander.js'
import { createLog } from '../../../src/shared/log.js'
import { createMetrics } from '../../../src/shared/metrics.js'
import type { LaneConfig } from '../../../src/submission/lanes/lane.js'
import { openLane } from '../../../src/submission/lanes/open-lane.js'
import { defaults as laneDefaults } from '../../../src/submission/lanes/options.js'
import { KEY, SDK_REQUESTS, TRANSACTION, type BodyForm } from '../../fixtures/lanes/sdk-requests.js'
import { base64, createPayer } from '../../fixtures/sandbox/upstream.js'
import { answer, openRawUpstream } from '../../fixtures/submission/raw-upstream.js'

const FLOOR = 1_000_000n

const toBody = (form: BodyForm, bytes: Buffer): Buffer => {
  if (form === 'bytes') return bytes
  if (form === 'frame')
    return Buffer.concat([Buffer.of(bytes.length >> 8, bytes.length & 0xff), bytes])
  return Buffer.from(JSON.stringify(form.json).replace(TRANSACTION, base64(bytes)))
}

const open = async (t: Test, limits: { readonly requestsPerSecondMax?: number } = {}) => {
  const { chain, pay, tips } = createPayer(t)
  const lander = await openDevLander(chain, { tipAddresses: tips.lander, ...limits })
  const engine = await openBundleEngine(chain, { tipAddresses: tips.engine, ...limits })
  t.teardown(() => Promise.all([lander.close(), engine.close()]))
  const urls = { lander: lander.url, engine: engine.url }
  /** Sends a request as it was recorded, with these bytes. */
  const send = async (of: (typeof SDK_REQUESTS)[number], bytes: Buffer, given?: string) => {
    const own = of.path.startsWith('/iris') ? CREDENTIALS.iris : CREDENTIALS[of.server]
    const key = given ?? own
    const headers = Object.entries(of.headers).map(([name, value]) => [
      name,
      value === KEY ? key : value,
    ])
    const { statusCode, body } = await request(urls[of.server] + of.path.replace(KEY, key), {
      method: 'POST',
      headers: Object.fromEntries(headers),
      body: toBody(of.body, bytes),
    })
    return { status: statusCode, text: await body.text() }
  }
  const payTo = (server: 'lander' | 'engine', lamports = FLOOR) => pay(lamports, tips[server][0])
  return { chain, payTo, send }
}

const resultOf = (text: string): unknown => (JSON.parse(text) as { result?: unknown }).result

t.test('what each client of the SDK sends is accepted, and lands', async t => {
  const { chain, payTo, send } = await open(t)
  for (const one of SDK_REQUESTS) {
    const { bytes, signature, to } = payTo(one.server)
    const { status, text } = await send(one, bytes)
    t.equal(status, 200, one.sender)
    if (one.reads === 'result') t.equal(resultOf(text), signature, one.sender)
    t.not(chain.account(to), undefined, `${one.sender} has landed`)
  }
})

t.test('each client of the SDK finds a refusal in the answer', async t => {
  const { payTo, send } = await open(t, { requestsPerSecondMax: 1 })
  /** Statuses of a wrong key, of half a transaction, and of a second request. */
  const statuses: Record<string, readonly number[]> = {
    LunarLander: [401, 400, 429],
    Helius: [401, 400, 429],
    Temporal: [401, 400, 429],
    '0slot': [403, 500, 419],
    Jito: [401, 400, 429],
    Astralane: [401, 400, 429],
    Glaive: [401, 400, 429],
    Node1: [401, 400, 429],
    NextBlock: [401, 400, 429],
    FlashBlock: [401, 400, 429],
    'BlockRazor true': [401, 400, 429],
  }
  for (const one of SDK_REQUESTS) {
    const expected = statuses[one.sender]
    if (expected === undefined) continue
    const { send: sendAnew } = await open(t, { requestsPerSecondMax: 1 })
    const { bytes } = payTo(one.server)
    const got = [
      await sendAnew(one, bytes, 'another'),
      await sendAnew(one, bytes.subarray(0, 100)),
      await sendAnew(one, bytes),
    ]
    t.strictSame(
      got.map(({ status }) => status),
      expected,
      one.sender,
    )
  }
  const [helius] = SDK_REQUESTS.filter(({ sender }) => sender === 'Helius')
  if (helius === undefined) throw new Error('no such client')
  const json = { params: [TRANSACTION, { encoding: 'base64' }] }
  const call = { id: 1, jsonrpc: '2.0', method: 'sendTransaction', ...json }
  const { status, text } = await send({ ...helius, body: { json: call } }, payTo('lander').bytes)
  t.equal(status, 400)
  t.match(text, 'skipPreflight must be true')
})

/** What a lane of the service writes to a sender. */
const requestOfLane = async (
  t: Test,
  { isKeyInPath = false, ...lane }: NonNullable<(typeof SDK_REQUESTS)[number]['lane']>,
) => {
  const { payTo } = await open(t)
  const { bytes, signature } = payTo('lander')
  const raw = await openRawUpstream(t, s => s.write(answer(JSON.stringify({ result: signature }))))
  const { path, ...given } = lane
  const config: Partial<LaneConfig> = { ...given, credential: isKeyInPath ? undefined : KEY }
  const opened = await openLane(
    {
      ...laneDefaults,
      ...{ id: 'one', kind: 'octets', tipAddresses: [], pingPath: '' },
      ...config,
      url: raw.url + path,
    },
    {
      ...{ network: 'main', log: createLog('test', () => {}) },
      ...{ metrics: createMetrics('test'), now: () => performance.now() },
    },
  )
  t.teardown(() => opened.close())
  const end = await opened.send({ bytes, signature })
  const [got] = raw.received
  if (got === undefined) throw new Error('nothing was sent')
  return { ...got, bytes, end }
}

t.test('a lane writes what the client of its sender in the SDK writes', async t => {
  for (const { body: form, headers, lane, path, sender } of SDK_REQUESTS) {
    if (lane === undefined) continue
    const got = await requestOfLane(t, lane)
    t.equal(got.end.outcome, 'accepted', sender)
    const [ours, theirs] = [got.path, path].map(each => new URL(each, 'http://sender'))
    t.equal(ours?.pathname, theirs?.pathname, sender)
    const sorted = (url: URL | undefined) => [...(url?.searchParams ?? [])].toSorted()
    t.strictSame(sorted(ours), sorted(theirs), `${sender}: the query`)
    for (const [name, value] of Object.entries(headers))
      if (name === 'content-type' || !path.includes(KEY))
        t.match(got.head.toLowerCase(), `${name}: ${value}`.toLowerCase(), sender)
    const expected = toBody(form, got.bytes)
    if (typeof form === 'string') t.strictSame(got.body, expected, sender)
    else
      // The lane adds what senders ask for: neither simulated nor repeated.
      t.match(
        JSON.parse(got.body.toString()),
        { ...JSON.parse(expected.toString()), ...(lane.kind === 'jsonrpc' && { id: 1 }) },
        `${sender}: the call`,
      )
  }
})
