import t from 'tap'
import { openDevUpstream } from '../../../src/sandbox/http/dev-upstream.js'
import { openQuicLander } from '../../../src/sandbox/upstreams/quic-lander.js'
import { createLog } from '../../../src/shared/log.js'
import { CREDENTIALS } from '../../../src/sandbox/upstreams/credentials.js'
import { openDevLander } from '../../../src/sandbox/upstreams/lander.js'
import { createMetrics } from '../../../src/shared/metrics.js'
import type { LaneEnd } from '../../../src/submission/lanes/lane.js'
import { openLane } from '../../../src/submission/lanes/open-lane.js'
import { defaults as laneDefaults } from '../../../src/submission/lanes/options.js'
import { createConnect } from '../../fixtures/lanes/quic-clients.js'
import { createPayer } from '../../fixtures/sandbox/upstream.js'
import { until } from '../../fixtures/until.js'

t.test('a stream is what a request to /send-bin is, faults included', async t => {
  const lander = await openDevUpstream({}, ({ method, pathname, headers, body }) => ({
    status: body.length === 0 ? 400 : 200,
    contentType: 'text/plain',
    body: `${method} ${pathname} ${String(headers['x-api-key'])} ${body.toString()}`,
  }))
  const log = createLog('test', () => {})
  const quic = openQuicLander({ lander, log, port: 0 })
  t.teardown(async () => {
    quic.close()
    await lander.close()
  })
  const connect = createConnect(t, quic.port)
  const client = connect('hml-sandbox', { isProtected: true })
  await client.untilUp()
  t.equal(await client.ask(Buffer.from('one')), '200 POST /send-bin hml-sandbox one')
  t.equal(await client.ask(Buffer.alloc(0)), '400 POST /send-bin hml-sandbox ')
  const control = `${lander.url}/_control`
  await fetch(control, { method: 'POST', body: '{"status":429,"body":"slow down","times":1}' })
  t.equal(await client.ask(Buffer.from('two')), '429 slow down')
  t.equal(await client.ask(Buffer.from('three')), '200 POST /send-bin hml-sandbox three')
  const { received } = (await (await fetch(control)).json()) as { received: { body: string }[] }
  t.strictSame(
    received.map(({ body }) => body),
    ['one', '', 'two', 'three'],
  )
  t.match(await connect('hml-sandbo').ended(), 'invalid_auth')
})

const ACCEPTED = { outcome: 'accepted' } as const
const WRITTEN = { outcome: 'written', status: null } as const
const REFUSED = { outcome: 'refused' } as const

t.test('a lane of each sender speaks with the server that stands for it', async t => {
  const { chain, pay, tips } = createPayer(t)
  const lander = await openDevLander(chain, { tipAddresses: tips.lander })
  t.teardown(() => lander.close())
  const log = createLog('test', () => {})
  const parts = { network: 'main', log, now: () => performance.now() }
  const open = async (
    dialect: 'lunar-lander' | 'nextblock' | 'node1' | 'glaive' | 'falcon',
    preset: string,
    credential: string,
  ) => {
    const server = openQuicLander({ dialect, lander, log, port: 0 })
    const lane = await openLane(
      {
        ...laneDefaults,
        ...{ id: preset, kind: 'quic-frame', preset, credential, tipAddresses: [] },
        url: `quic://127.0.0.1:${server.port}`,
      },
      { ...parts, metrics: createMetrics('test') },
    )
    t.teardown(async () => {
      await lane.close()
      server.close()
    })
    return lane
  }
  const { lander: text, uuid } = CREDENTIALS
  const senders: [
    dialect: Parameters<typeof open>[0],
    preset: string,
    credential: string,
    good: Partial<LaneEnd>,
    bad: Partial<LaneEnd>,
  ][] = [
    ['lunar-lander', 'lunar-lander', text, ACCEPTED, { ...REFUSED, words: 'tip required' }],
    ['lunar-lander', 'lunar-lander-one-way', text, WRITTEN, WRITTEN],
    ['nextblock', 'nextblock', text, WRITTEN, WRITTEN],
    ['node1', 'node1', uuid, ACCEPTED, { ...REFUSED, status: 400, words: 'tip required' }],
    ['glaive', 'glaive', uuid, WRITTEN, WRITTEN],
    ['falcon', 'falcon', uuid, ACCEPTED, { ...REFUSED, status: 3, words: 'missing tip' }],
    ['falcon', 'falcon-one-way', uuid, WRITTEN, WRITTEN],
  ]
  const stranger = '00112233-4455-4677-8899-aabbccddee00'
  for (const [dialect, preset, credential, good, bad] of senders) {
    const lane = await open(dialect, preset, credential)
    const unknown = await open(dialect, preset, stranger)
    await until(`${preset} is up`, () => !lane.isDown())
    const { bytes, signature, to } = pay(1_000_000n)
    t.match(await lane.send({ bytes, signature }), good, preset)
    await until(`${preset} has landed it`, () => chain.account(to) !== undefined)
    const cheap = pay(1n)
    const end = await lane.send({ bytes: cheap.bytes, signature: cheap.signature })
    t.match(end, bad, preset)
    t.notMatch(end.words, credential, preset)
    const other = pay(1_000_000n)
    const lost = await unknown.send({ bytes: other.bytes, signature: other.signature })
    t.match(lost.outcome, /^(?:unreachable|written|unknown)$/, `${preset}: another key`)
    t.equal(chain.account(other.to), undefined, `${preset}: nothing of it has landed`)
  }
})
