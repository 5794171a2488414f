import type net from 'node:net'
import t from 'tap'
import { Attempt } from '../../src/upstream/attempt.js'
import { UpstreamFailure } from '../../src/upstream/errors.js'
import { answer, openRawUpstream, type Script } from '../fixtures/submission/raw-upstream.js'
import { CANARY, later, openUpstream } from '../fixtures/upstream/client.js'

/** Writes one byte every 5 ms, all but the last. */
const drip = (socket: net.Socket, bytes: Buffer): void => {
  let at = 0
  const timer = setInterval(() => {
    if (socket.destroyed || at === bytes.length - 1) clearInterval(timer)
    else socket.write(bytes.subarray(at, ++at))
  }, 5)
}

t.test('an incomplete answer after bytes were written counts as no response', async t => {
  const big = Buffer.alloc(10 * 1024 ** 2, 'x')
  const cases: [name: string, script: Script, reason: RegExp][] = [
    ['nothing', () => {}, /no whole answer in 300 ms/],
    ['headers alone', s => s.write(answer('abc').subarray(0, -3)), /no whole answer/],
    ['one byte at a time', s => drip(s, answer('x'.repeat(500))), /no whole answer/],
    ['a reset', s => s.resetAndDestroy(), /ECONNRESET|UND_ERR_SOCKET/],
    ['an end', s => s.end(), /UND_ERR_SOCKET/],
    [
      'a reset in the body',
      s => s.write(answer('abc').subarray(0, -1), () => s.resetAndDestroy()),
      /ECONNRESET|UND_ERR/,
    ],
    ['an end in the body', s => s.end(answer('abc').subarray(0, -1)), /UND_ERR/],
    ['garbage', s => s.write('SSH-2.0-OpenSSH_9.2\r\n'), /HTTPParserError/],
    ['a page without HTTP', s => s.end('<html>busy</html>'), /HTTPParserError/],
    ['10 MB with their length', s => s.write(answer(big)), /exceeds 1048576 bytes/],
    [
      '10 MB ended by the close',
      s => s.end(Buffer.concat([Buffer.from('HTTP/1.1 200 OK\r\n\r\n'), big])),
      /exceeds 1048576 bytes/,
    ],
    ['headers without an end', s => s.write(`HTTP/1.1 200 OK\r\nA: ${big}`), /HEADERS_OVERFLOW/],
    ['a status out of range', s => s.write(answer('', { status: '799 Odd' })), /status 799/],
    [
      'an upgrade',
      s => s.write('HTTP/1.1 101 No\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'),
      /UND/,
    ],
    [
      'two lengths',
      s => s.write('HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'),
      /LENGTH_MISMATCH/,
    ],
  ]
  for (const [name, script, reason] of cases)
    t.test(name, async t => {
      const raw = await openRawUpstream(t, script)
      const other = await openRawUpstream(t)
      const { send, upstream, outcomes, lines } = await openUpstream(t, [raw.url, other.url], {
        // Long where something other than the time-out ends the request.
        answerMs: reason.source.includes('no whole answer') ? 300 : 20_000,
      })
      let written = 0
      const failure = await send('{}', '/send', () => written++)
      if (!(failure instanceof UpstreamFailure)) throw new Error('answered')
      t.equal(failure.kind, 'no-response')
      t.match(failure.message, reason)
      t.strictSame([raw.received.length, other.received.length, written], [1, 0, 1])
      t.strictSame(outcomes, ['no-response'])
      t.equal(upstream.inFlight(), 0)
      t.notMatch(lines.join(), CANARY)
    })

  t.test('a reset before a byte was read', async t => {
    const raw = await openRawUpstream(t, undefined, {
      onConnect: s => later(() => s.resetAndDestroy(), 30),
    })
    const other = await openRawUpstream(t)
    const { send } = await openUpstream(t, [raw.url, other.url])
    const failure = await send('{}')
    t.match(failure, { kind: 'no-response' })
    t.equal(other.received.length, 0, 'the kernel may have taken the bytes')
  })
})

t.test('an attempt that the HTTP client restarts is aborted', async t => {
  const events: string[] = []
  const attempt = new Attempt(
    { answerMs: 10_000, replyBytesMax: 1_000 },
    () => events.push('write'),
    outcome =>
      events.push(
        outcome instanceof UpstreamFailure ? `${outcome.kind}: ${outcome.message}` : 'reply',
      ),
  )
  const controller = { abort: (reason: Error) => attempt.onResponseError(undefined, reason) }
  attempt.onRequestStart(controller)
  attempt.onRequestStart(controller)
  attempt.onResponseError(undefined, new Error('later'))
  t.strictSame(events, ['write', 'no-response: the connection was replaced'])
})
