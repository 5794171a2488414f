import net from 'node:net'
import t, { type Test } from 'tap'
import { UnreadReplyDetector } from '../../../src/server/http/unread-reply-detector.js'
import { openTestServer, post, text } from '../../fixtures/server/server.js'

/** Floods a server whose replies have this length; returns the log lines when it has closed. */
const flood = async (t: Test, bodyBytes: number): Promise<string> => {
  const body = 'x'.repeat(bodyBytes)
  const { port, server, lines } = await openTestServer(t, [{ handle: () => text(body) }])
  const socket = net.connect(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.pause()
  const closed = new Promise(resolve => socket.once('close', resolve))
  const before = process.memoryUsage.rss()
  const batch = Buffer.from(post('/t', 'x').repeat(1_000))
  // Bounded by the socket's own buffer: this process has both ends, and its memory is measured.
  const timer = setInterval(() => {
    if (!socket.destroyed && !socket.writableNeedDrain) socket.write(batch)
  }, 5)
  await closed
  clearInterval(timer)
  const { requestsCount } = server.stats()
  t.ok(requestsCount < 3_000, `closed after ${requestsCount} replies of ${bodyBytes} bytes`)
  t.ok(process.memoryUsage.rss() - before < 150e6)
  return lines.join('')
}

t.test('a client that pipelines requests and never reads is disconnected', async t => {
  const logs: string[] = []
  // The reply that fills the kernel's buffer may be a probe: then the next request, which comes
  // before its end, closes the connection without a line.
  for (const bodyBytes of [20_000, 19_000, 17_000]) logs.push(await flood(t, bodyBytes))
  t.match(logs.join(''), /replies are not read/)
})

t.test('one reply per this many bytes is a probe, and failed probes are bounded by address', t => {
  let nowMs = 0
  const detector = new UnreadReplyDetector(
    { unreadProbeBytes: 100, unreadProbesMax: 2, unreadForgetMs: 1_000 },
    () => nowMs,
  )
  const probes = Array.from({ length: 8 }, () => detector.countReply(30))
  t.strictSame(probes, [false, false, false, true, false, false, false, true])
  t.strictSame(
    [detector.recordUnread('a'), detector.recordUnread('a'), detector.recordUnread('b')],
    [false, false, false],
  )
  t.equal(detector.recordUnread('a'), true)
  nowMs = 1_000
  t.equal(detector.recordUnread('a'), false, 'failed probes are forgotten')
  t.end()
})
