import fc from 'fast-check'
import t from 'tap'
import type { BodySource, Reply } from '../../../src/shared/http.js'
import {
  connect,
  eventually,
  openTestServer,
  replyCount,
  statusOf,
  text,
} from '../../fixtures/server/server.js'

const KIB = 1024
const LARGE = 700 * KIB
/** Written at once, and what its client does not take is counted. */
const COUNTED = 300 * KIB

const sourceOf = (bytes: number, isKnown: boolean, isFailing = false): BodySource => {
  let left = bytes
  return {
    byteLength: isKnown ? bytes : undefined,
    read: into => {
      if (isFailing && left < bytes) throw new Error('the rest is gone')
      const count = Math.min(left, into.byteLength)
      left -= count
      return new Promise(resolve => setImmediate(() => resolve(count)))
    },
    close() {},
  }
}

/** What a handler can reply with: each is another path of the server's reply. */
const BODIES: Readonly<Record<string, () => Reply['body']>> = {
  small: () => 'ok',
  counted: () => Buffer.alloc(COUNTED),
  bytes: () => Buffer.alloc(LARGE),
  string: () => 'x'.repeat(LARGE),
  source: () => sourceOf(LARGE, true),
  unknown: () => sourceOf(LARGE, false),
  failing: () => sourceOf(LARGE, true, true),
  failingUnknown: () => sourceOf(LARGE, false, true),
}

const openBudget = (t: Parameters<typeof openTestServer>[0], repliesInFlightBytesMax: number) =>
  openTestServer(
    t,
    [
      {
        pattern: '/:body',
        bodyBytesMax: 64 * KIB,
        open: request => request.path.slice(1),
        ownerOf: () => 'one',
        handle: async name => text(BODIES[String(name)]?.() ?? ''),
      },
    ],
    { options: { repliesInFlightBytesMax } },
  )

const request = (name: string, version = '1.1'): string =>
  `POST /${name} HTTP/${version}\r\nHost: a\r\nContent-Length: 1\r\n\r\nx`

type Step = { readonly name: string; readonly isAncient: boolean; readonly ending: string }

t.test('every path of a reply gives back exactly what it took', async t => {
  const { port, server } = await openBudget(t, 8 * KIB * KIB)
  const step = fc.record<Step>({
    name: fc.constantFrom(...Object.keys(BODIES)),
    isAncient: fc.boolean(),
    ending: fc.constantFrom('read', 'leave at once', 'leave midway', 'read late'),
  })
  const budget = (): number => server.stats().replyBytesInFlight
  const play = async ({ name, isAncient, ending }: Step): Promise<void> => {
    const connection = await connect(port)
    const { socket } = connection
    if (ending === 'read late') socket.pause()
    const before = server.stats().requestsCount
    socket.write(request(name, isAncient ? '1.0' : '1.1'))
    await eventually(() => server.stats().requestsCount > before)
    if (ending === 'leave midway') await connection.until(now => now.length > 0)
    if (ending === 'read late') socket.resume()
    if (ending.startsWith('read')) await eventually(() => server.stats().requestsInFlight === 0)
    socket.destroy()
  }
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 8 }), async steps => {
      await Promise.all(steps.map(play))
      await eventually(() => server.stats().requestsInFlight === 0)
      return budget() === 0
    }),
    { numRuns: 12 },
  )
})

t.test('a client that leaves replies unread does not enlarge the budget', async t => {
  const { port, server } = await openBudget(t, 4 * KIB * KIB)
  for (let round = 0; round < 3; round++) {
    const connection = await connect(port)
    connection.socket.pause()
    // Fills the socket's buffers, until the rest of a reply is kept for its client.
    for (let sent = 0; sent < 64 && server.stats().repliesInFlight === 0; sent++) {
      const before = server.stats().requestsCount
      connection.socket.write(request('counted'))
      await eventually(() => server.stats().requestsCount > before)
      await new Promise(setImmediate)
    }
    t.equal(server.stats().repliesInFlight, 1, 'a reply was taken in part')
    t.ok(server.stats().replyBytesInFlight > 0, 'its rest counts')
    connection.socket.destroy()
    await eventually(() => server.stats().requestsInFlight === 0)
    t.equal(server.stats().replyBytesInFlight, 0)
  }
  const others = await Promise.all(
    Array.from({ length: 24 }, async () => {
      const connection = await connect(port)
      connection.socket.write(request('bytes'))
      await connection.until(now => now.length > 0)
      connection.socket.pause()
      return connection
    }),
  )
  await eventually(() => others.some(one => statusOf(one.received()) === '503'))
  t.ok(server.stats().replyBytesInFlight <= 2 * KIB * KIB, 'half of it, as before')
  t.ok(others.every(one => replyCount(one.received()) <= 1))
  for (const { socket } of others) socket.destroy()
})
