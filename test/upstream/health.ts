import t from 'tap'
import { until } from '../fixtures/until.js'
import { blackholePort, openRawUpstream, refusedPort } from '../fixtures/submission/raw-upstream.js'
import { openUpstream } from '../fixtures/upstream/client.js'

const CONNECT_MS = 600
/** undici counts the time of a connection in ticks of half a second, and the first one is begun. */
const WAITS_MS = CONNECT_MS - 500

t.test('without a connection the next URL is tried, in time', async t => {
  const refused = `http://127.0.0.1:${await refusedPort()}`
  const blackhole = `http://127.0.0.1:${await blackholePort(t)}`
  const noName = 'http://nowhere.invalid'
  const noTls = await openRawUpstream(t, s => s.write('no TLS'))
  const cases: [name: string, urls: string[], reason: RegExp, atLeastMs: number][] = [
    ['a closed port', [refused], /ECONNREFUSED/, 0],
    ['no such name', [noName], /ENOTFOUND|EAI_AGAIN|CONNECT_TIMEOUT/, 0],
    ['no answer to the first packet', [blackhole], /CONNECT_TIMEOUT/, WAITS_MS],
    ['no TLS', [noTls.url.replace('http', 'https')], /./, 0],
    ['one after the other', [refused, blackhole, refused], /ECONNREFUSED/, WAITS_MS],
  ]
  for (const [name, urls, reason, atLeastMs] of cases)
    t.test(name, async t => {
      const alone = await openUpstream(t, urls, { connectMs: CONNECT_MS })
      const startMs = performance.now()
      // Timers count from the turn of the event loop that starts them, this one as the client's.
      let isEarly = atLeastMs > 0
      setTimeout(() => (isEarly = false), atLeastMs)
      const failure = await alone.send('{}')
      const elapsedMs = performance.now() - startMs
      t.match(failure, { kind: 'unreachable', message: reason })
      t.ok(!isEarly && elapsedMs < atLeastMs + 2_000, `${elapsedMs} ms`)
      t.strictSame(alone.outcomes, ['unreachable'])

      const raw = await openRawUpstream(t)
      const both = await openUpstream(t, [...urls, raw.url], { connectMs: CONNECT_MS })
      let written = 0
      t.match(await both.send('{}', '/send', () => written++), { status: 200 })
      t.equal(written, 1)
      const againMs = performance.now()
      t.match(await both.send('{}'), { status: 200 })
      t.ok(performance.now() - againMs < 550, 'the next request does not wait again')
      t.equal(raw.received.length, 2)
      t.equal(both.lines.length, urls.length, 'one log line for each')
    })
})

t.test('the first URL is used again as soon as a ping reaches it', async t => {
  const port = await refusedPort()
  const second = await openRawUpstream(t)
  const { send } = await openUpstream(t, [`http://127.0.0.1:${port}`, second.url], {
    pingPath: '/ping',
    pingMs: 20,
  })
  t.match(await send('1'), { status: 200 })
  t.equal(second.received.length, 1)
  const first = await openRawUpstream(t, undefined, { port })
  await until('pings arrive', () => first.pings.length > 2)
  t.match(await send('2'), { status: 200 })
  t.strictSame([first.received.length, second.received.length], [1, 1])
})
