import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { answer, openRawUpstream, type Script } from '../fixtures/raw-upstream.js'
import { connect, post as toPost } from '../fixtures/server.js'
import { openSubmissionEdge } from '../fixtures/submission-edge.js'
import { base64, FLOOR, tipping, TIPS } from '../fixtures/tipping.js'
import { until } from '../fixtures/until.js'

const SUBMISSIONS = 10_000
const CLIENTS = 32
const OK = '{"result":"ok"}'

const later = (write: () => void, ms: number): void => void setTimeout(write, ms)

/** What the lander does, most of it right. */
const SCRIPTS: readonly Script[] = [
  ...Array<Script>(12).fill(s => s.write(answer(OK))),
  s => s.write(answer(OK, { status: '400 Bad Request' })),
  s => s.write(answer(OK, { status: '503 Busy' })),
  s => s.end(answer(OK)),
  s => s.end(answer(OK, { lines: ['Connection: close'] })),
  s => s.write(answer(OK), () => s.resetAndDestroy()),
  s => s.write(Buffer.concat([answer(OK), answer(OK)])),
  s => s.destroy(),
  s => s.resetAndDestroy(),
  s => s.write(answer(OK).subarray(0, -1), () => s.destroy()),
  s => s.write('garbage\r\n\r\n'),
  s => later(() => s.write(answer(OK)), 3),
]

t.test('10,000 submissions, faults and clients that leave: none is sent twice', async t => {
  let seed = 11
  const random = (): number => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647
  const raw = await openRawUpstream(t, (socket, request) =>
    SCRIPTS[Math.floor(random() * SCRIPTS.length)]?.(socket, request),
  )
  const edge = await openSubmissionEdge(t, {
    upstream: { urls: [raw.url], answerMs: 2_000 },
    tipAddresses: TIPS,
  })
  const transaction = base64(tipping([FLOOR, 0]))
  const path = `/${edge.token}/lander`
  const type = 'Content-Type: application/json'
  const bodyOf = (id: number): string =>
    `{"jsonrpc":"2.0","id":${id},"method":"sendTransaction","params":["${transaction}"]}`
  const statuses = new Map<number, number>()
  const cut = new Set<number>()
  let next = 0

  const leave = async (id: number): Promise<void> => {
    const isWhole = random() < 0.5
    const client = await connect(edge.port)
    const request = toPost(path, bodyOf(id), [type])
    client.socket.write(isWhole ? request : request.slice(0, -5), 'latin1')
    if (!isWhole) cut.add(id)
    if (random() < 0.7) await sleep(random() * 3)
    client.socket.resetAndDestroy()
  }
  const work = async (): Promise<void> => {
    while (next < SUBMISSIONS) {
      const id = next++
      if (random() < 0.1) await leave(id)
      else {
        const reply = await edge.post(path, bodyOf(id), { 'content-type': 'application/json' })
        statuses.set(id, reply.status)
      }
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, work))
  await until('nothing is under way', async () =>
    /upstream_in_flight\{[^}]*\} 0$/m.test(await edge.metrics()),
  )

  const received = raw.received.map(({ body }) => Number(/"id":(\d+)/.exec(String(body))?.[1]))
  const unique = new Set(received)
  t.equal(received.length, unique.size, 'none twice')
  t.ok(
    received.every(id => !cut.has(id)),
    'none that was not whole',
  )
  t.ok(
    [...statuses.keys()].every(id => unique.has(id)),
    'all whose client stayed',
  )
  t.strictSame([...new Set(statuses.values())].toSorted(), [200, 400, 503, 504])

  const page = await edge.metrics()
  const counts = [
    ...page.matchAll(/^slotline_submissions_total\{.*route="\/lander",outcome="(\w+)"\} (\d+)$/gm),
  ]
  const ended = new Map(counts.map(([, outcome = '', count]) => [outcome, Number(count)]))
  t.strictSame([...ended.keys()].toSorted(), ['forwarded', 'outcomeUnknown'])
  const sum = (ended.get('forwarded') ?? 0) + (ended.get('outcomeUnknown') ?? 0)
  t.equal(sum, received.length, 'the lander has what the edge says that it sent')
  t.comment(`${received.length} received, ${ended.get('outcomeUnknown')} of them unknown`)
})
