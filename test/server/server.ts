import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import t from 'tap'
import { createBytesSource } from '../../src/server/http/body-source.js'
import { ByteBudget } from '../../src/shared/byte-budget.js'
import type { Reply } from '../../src/shared/http.js'
import {
  connect,
  eventually,
  openTestServer,
  post,
  replyCount,
  splitReplies,
  text,
} from '../fixtures/server/server.js'

t.test('draining finishes requests in flight and closes connections', async t => {
  let release: () => void = () => {}
  const { server, port } = await openTestServer(
    t,
    [
      { handle: () => new Promise<Reply>(resolve => (release = () => resolve(text('late')))) },
      { pattern: '/now/:a', handle: () => text('now') },
    ],
    { options: { drainQuietMs: 50 } },
  )
  const idle = await connect(port)
  const inFlight = await connect(port)
  const busy = await connect(port)
  inFlight.socket.write(post('/t', 'x'))
  busy.socket.write(post('/now/a', 'x'))
  await busy.until(now => replyCount(now) === 1)
  await eventually(() => server.stats().requestsInFlight === 1)
  const drained = server.drain()
  busy.socket.write(post('/now/a', 'x'))
  await busy.closed
  const [first, last] = splitReplies(busy.received())
  t.match(first?.head, /Keep-Alive/)
  t.match(last?.head, /Connection: close/, 'sent with its last reply')
  await t.rejects(connect(port), 'no new connection')
  release()
  await drained
  await Promise.all([inFlight.closed, idle.closed])
  t.match(inFlight.received(), /late$/)
  t.match(server.stats(), { requestsInFlight: 0, connections: 0 })
})

t.test('large replies of a draining server are complete', async t => {
  const size = 1024 ** 2
  const release: (() => void)[] = []
  const waiting = (isKnown: boolean) => (): Promise<Reply> =>
    new Promise(resolve => {
      const source = createBytesSource(Buffer.alloc(size, 'a'), new ByteBudget(1).open(undefined))
      const body = isKnown ? source : { ...source, byteLength: undefined }
      release.push(() => resolve(text(body)))
    })
  const { server, port } = await openTestServer(t, [
    { pattern: '/known', handle: waiting(true) },
    { pattern: '/unknown', handle: waiting(false) },
  ])
  // An ordinary client, which takes the framing at its word.
  const ask = async (path: string): Promise<[connection: string | undefined, body: string]> => {
    const sent = request({ port, path, method: 'POST' }).end('x')
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    const chunks = await response.setEncoding('latin1').toArray()
    return [response.headers.connection, chunks.join('')]
  }
  const pending = [ask('/known'), ask('/unknown')]
  await eventually(() => release.length === 2)
  const drained = server.drain()
  for (const go of release) go()
  for (const [connection, body] of await Promise.all(pending)) {
    t.equal(connection, 'close')
    t.ok(body === 'a'.repeat(size), `${body.length} bytes`)
  }
  await drained
})

t.test('draining ends at its deadline', async t => {
  const { server, port } = await openTestServer(
    t,
    [{ handle: () => new Promise<Reply>(() => {}) }],
    {
      options: { drainMs: 60 },
    },
  )
  const connection = await connect(port)
  connection.socket.write(post('/t', 'x'))
  await eventually(() => server.stats().requestsInFlight === 1)
  await server.drain()
  await connection.closed
  t.equal(server.stats().abortedCount, 1)
})
