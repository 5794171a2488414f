import type net from 'node:net'
import t from 'tap'
import { until } from '../fixtures/until.js'
import {
  answer,
  openRawUpstream,
  refusedPort,
  type Script,
} from '../fixtures/submission/raw-upstream.js'
import { CANARY, later, openUpstream } from '../fixtures/upstream/client.js'

t.test('a request is sent as given, with the credential', async t => {
  const raw = await openRawUpstream(t)
  const inHeader = await openUpstream(t, [`${raw.url}/base/`])
  await inHeader.send('{"é": 1}')
  const inQuery = await openUpstream(t, [raw.url], {
    credentialIn: 'query',
    credentialName: 'api-key',
  })
  await inQuery.send('a')
  await inQuery.send('b', '/send?mode=x')
  const [first, second, third] = raw.received
  t.equal(first?.body.toString(), '{"é": 1}')
  t.strictSame(first?.head.split('\r\n').toSorted(), [
    'POST /base/send HTTP/1.1',
    'accept-encoding: identity',
    'connection: keep-alive',
    'content-length: 9',
    'content-type: application/json',
    `host: 127.0.0.1:${raw.port}`,
    `x-api-key: ${CANARY}`,
  ])
  t.equal(second?.path, `/send?api-key=${CANARY}`)
  t.notMatch(second?.head, 'x-api-key')
  t.equal(third?.path, `/send?mode=x&api-key=${CANARY}`)
})

t.test('a request over the bound is refused at once and not written', async t => {
  const sockets: net.Socket[] = []
  const raw = await openRawUpstream(t, socket => sockets.push(socket))
  const { send, upstream, outcomes } = await openUpstream(t, [raw.url], {
    inFlightMax: 2,
    answerMs: 1_000,
  })
  const first = send('1')
  const second = send('2')
  t.match(await send('3'), { kind: 'full' })
  t.equal(upstream.inFlight(), 2)
  await until('both came', () => sockets.length === 2)
  for (const socket of sockets) socket.write(answer('{}'))
  t.match(await Promise.all([first, second]), [{ status: 200 }, { status: 200 }])
  t.match(await Promise.all([send('4'), send('5')].map(async sent => await sent)), [
    { kind: 'no-response' },
    { kind: 'no-response' },
  ])
  t.strictSame(outcomes, ['full', '2xx', '2xx', 'no-response', 'no-response'])
  t.equal(raw.received.length, 4)
})

t.test(
  'closed during a request: a written one has no response, others are unreachable',
  async t => {
    const raw = await openRawUpstream(t, () => {})
    const { send, upstream } = await openUpstream(t, [raw.url])
    const sent = send('1')
    await until('it came', () => raw.received.length === 1)
    await upstream.close()
    t.match(await sent, { kind: 'no-response' })
    t.match(await send('2'), { kind: 'unreachable' })
    t.equal(raw.received.length, 1)
  },
)

t.test('no failure makes a request be sent twice', async t => {
  let seed = 7
  const random = (): number => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647
  const scripts: Script[] = [
    s => s.write(answer('{}')),
    s => s.write(answer('{}'), () => s.destroy()),
    s => s.end(answer('{}')),
    s => s.end(answer('{}', { lines: ['Connection: close'] })),
    s => s.destroy(),
    s => s.resetAndDestroy(),
    s => s.write('garbage\r\n\r\n'),
    s => s.write(Buffer.concat([answer('{}'), answer('{}')])),
    s => later(() => s.write(answer('{}')), 5),
  ]
  const raw = await openRawUpstream(t, socket =>
    scripts[Math.floor(random() * scripts.length)]?.(socket, undefined as never),
  )
  const refused = `http://127.0.0.1:${await refusedPort()}`
  const { send, outcomes } = await openUpstream(t, [refused, raw.url], {
    restMs: 1,
    inFlightMax: 32,
    connectMs: 10_000,
    answerMs: 10_000,
  })
  const written = new Set<string>()
  let next = 0
  const client = async (): Promise<void> => {
    while (next < 2_000) {
      const id = String(next++)
      await send(id, '/send', () => written.add(id))
    }
  }
  await Promise.all(Array.from({ length: 16 }, client))
  const received = raw.received.map(({ body }) => body.toString())
  t.equal(new Set(received).size, received.length, 'no request twice')
  t.ok(
    received.every(id => written.has(id)),
    '`onWritten` was called for each',
  )
  t.equal(outcomes.length, 2_000, 'each ends once')
  t.equal(outcomes.filter(outcome => outcome === 'unreachable').length, 0)
  t.ok(outcomes.filter(outcome => outcome === '2xx').length > 500)
  t.ok(outcomes.filter(outcome => outcome === 'no-response').length > 200)
})
