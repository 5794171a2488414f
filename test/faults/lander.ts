import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { answer, openRawUpstream, type Script } from '../fixtures/submission/raw-upstream.js'
import { connect, post as toPost } from '../fixtures/server/server.js'
import { openSubmissionEdge } from '../fixtures/submission/submission-edge.js'
import { base64, FLOOR, frame, tipping, TIPS } from '../fixtures/sandbox/tipping.js'
import { isSoak } from '../fixtures/soak.js'
import { until } from '../fixtures/until.js'

const SUBMISSIONS = isSoak ? 10_000 : 1_000
const CLIENTS = 32
const ROUTES = ['/lander', '/lander-submit-bundle', '/lander-submit-batch'] as const
const OK = '{"result":"ok"}'

const later = (write: () => void, ms: number): void => void setTimeout(write, ms)

/** Behaviours of the lander, most of them correct. */
const SCRIPTS: readonly Script[] = [
  ...Array<Script>(12).fill(s => s.write(answer(OK))),
  s => s.write(answer(OK, { status: '400 Bad Request' })),
  s => s.write(answer(OK, { status: '503 Busy' })),
  s => s.end(answer(OK)),
  s => s.end(answer(OK, { lines: ['Connection: close'] })),
  s => s.write(answer(OK), () => s.destroy()),
  s => s.write(answer(OK), () => s.resetAndDestroy()),
  s => s.write(Buffer.concat([answer(OK), answer(OK)])),
  s => s.destroy(),
  s => s.resetAndDestroy(),
  s => s.write(answer(OK).subarray(0, -1), () => s.destroy()),
  s => s.write('garbage\r\n\r\n'),
  s => later(() => s.write(answer(OK)), 3),
]

t.test(
  `${SUBMISSIONS} submissions with faults and disconnecting clients: none is sent twice`,
  async t => {
    let seed = 11
    const random = (): number => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647
    const raw = await openRawUpstream(t, (socket, request) =>
      SCRIPTS[Math.floor(random() * SCRIPTS.length)]?.(socket, request),
    )
    const edge = await openSubmissionEdge(t, {
      upstream: { urls: [raw.url], answerMs: 2_000 },
      tipAddresses: TIPS,
    })
    const tip = tipping([FLOOR, 0])
    const transaction = base64(tip)
    const call = (id: number, method: string, sent: unknown): string =>
      JSON.stringify({ jsonrpc: '2.0', id, method, params: [sent] })
    /**
     * Uses each route in turn. A call has the number as its id; a batch has it in its first record.
     */
    const bodyOf = (id: number): string | Buffer => {
      if (id % 3 === 0) return call(id, 'sendTransaction', transaction)
      if (id % 3 === 1) return call(id, 'sendBundle', [transaction])
      const record = Buffer.alloc(66 + (id % 100))
      record.writeUInt32BE(id)
      return frame(record, tip)
    }
    const routeOf = (id: number): (typeof ROUTES)[number] => ROUTES[id % 3] ?? ROUTES[0]
    const pathOf = (id: number): string => `/${edge.token}${routeOf(id)}`
    const typeOf = (id: number): string =>
      id % 3 === 2 ? 'application/octet-stream' : 'application/json'
    const idOf = ({ path, body }: { readonly path: string; readonly body: Buffer }): number =>
      path === '/sendBatch' ? body.readUInt32BE(2) : JSON.parse(body.toString()).id
    const statuses = new Map<number, number>()
    const cut = new Set<number>()
    let next = 0

    const leave = async (id: number): Promise<void> => {
      const isWhole = random() < 0.5
      const client = await connect(edge.port)
      const body = Buffer.from(bodyOf(id)).toString('latin1')
      const request = toPost(pathOf(id), body, [`Content-Type: ${typeOf(id)}`])
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
          const reply = await edge.post(pathOf(id), bodyOf(id), { 'content-type': typeOf(id) })
          statuses.set(id, reply.status)
        }
      }
    }
    await Promise.all(Array.from({ length: CLIENTS }, work))
    await until('nothing is in flight', async () =>
      /upstream_in_flight\{[^}]*\} 0$/m.test(await edge.metrics()),
    )

    const received = raw.received.map(idOf)
    const unique = new Set(received)
    t.equal(received.length, unique.size, 'none is sent twice')
    t.ok(
      received.every(id => !cut.has(id)),
      'no incomplete submission is sent',
    )
    t.ok(
      [...statuses.keys()].every(id => unique.has(id)),
      'every submission whose client stayed connected is sent',
    )
    t.strictSame([...new Set(statuses.values())].toSorted(), [200, 400, 503, 504])

    const page = await edge.metrics()
    let unknown = 0
    for (const [nth, route] of ROUTES.entries()) {
      const series = new RegExp(
        `^slotline_submissions_total\\{.*route="${route}",outcome="(\\w+)"\\} (\\d+)$`,
        'gm',
      )
      const ended = new Map(
        [...page.matchAll(series)].map(([, outcome = '', count]) => [outcome, Number(count)]),
      )
      t.strictSame([...ended.keys()].toSorted(), ['forwarded', 'outcomeUnknown'], route)
      const sum = (ended.get('forwarded') ?? 0) + (ended.get('outcomeUnknown') ?? 0)
      const mine = received.filter(id => id % 3 === nth).length
      t.equal(sum, mine, `${route}: the lander received what the edge counted as sent`)
      unknown += ended.get('outcomeUnknown') ?? 0
    }
    t.comment(`${received.length} received, ${unknown} of them unknown`)
  },
)
