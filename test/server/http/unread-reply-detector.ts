import net from 'node:net'
import t from 'tap'
import { Backlog } from '../../../src/server/http/unread-reply-detector.js'
import { openTestServer, post, text } from '../../fixtures/server/server.js'

t.test('a client that pipelines and never reads', async t => {
  const body = 'x'.repeat(20_000)
  const { port, server, lines } = await openTestServer(t, [{ handle: () => text(body) }])
  const socket = net.connect(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.pause()
  const closed = new Promise(resolve => socket.once('close', resolve))
  const before = process.memoryUsage.rss()
  const batch = Buffer.from(post('/t', 'x').repeat(1_000))
  const flood = setInterval(() => socket.destroyed || socket.write(batch), 5)
  await closed
  clearInterval(flood)
  const { requestsCount } = server.stats()
  t.ok(requestsCount < 3_000, `closed after ${requestsCount} replies of 20 kB`)
  t.ok(process.memoryUsage.rss() - before < 150e6)
  t.match(lines.join(''), /replies are not read/)
})

t.test('a probe for each so many bytes, and a bound of those that find a backlog', t => {
  let nowMs = 0
  const backlog = new Backlog(
    { backlogProbeBytes: 100, backlogProbesMax: 2, backlogForgetMs: 1_000 },
    () => nowMs,
  )
  const probes = Array.from({ length: 8 }, () => backlog.isProbe(30))
  t.strictSame(probes, [false, false, false, true, false, false, false, true])
  t.strictSame([backlog.note('a'), backlog.note('a'), backlog.note('b')], [false, false, false])
  t.equal(backlog.note('a'), true)
  nowMs = 1_000
  t.equal(backlog.note('a'), false, 'forgotten in time')
  t.end()
})
