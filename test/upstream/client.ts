import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type net from 'node:net'
import tls from 'node:tls'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { createLog } from '../../src/shared/log.js'
import { Secret } from '../../src/shared/secret.js'
import { Attempt } from '../../src/upstream/attempt.js'
import { Upstream, type UpstreamOptions } from '../../src/upstream/client.js'
import { UpstreamFailure } from '../../src/upstream/errors.js'
import { defaults } from '../../src/upstream/options.js'
import { until } from '../fixtures/until.js'
import {
  answer,
  blackholePort,
  openRawUpstream,
  refusedPort,
  type Script,
} from '../fixtures/submission/raw-upstream.js'

const CANARY = 'hml-canary-of-the-upstream'

/** An upstream as a route has it, closed with the test. */
const open = async (t: Test, urls: readonly string[], options: Partial<UpstreamOptions> = {}) => {
  const lines: string[] = []
  const outcomes: string[] = []
  const upstream = new Upstream(
    {
      ...defaults,
      pingPath: '',
      credential: new Secret(CANARY),
      urls,
      ...options,
    },
    {
      log: createLog('test', line => lines.push(line)),
      now: () => performance.now(),
      onEnd: outcome => outcomes.push(outcome),
    },
  )
  t.teardown(() => upstream.close())
  const send = async (body: string, path = '/send', onWritten = () => {}) => {
    try {
      return await upstream.send({
        method: 'POST',
        path,
        headers: { 'content-type': 'application/json' },
        body: Buffer.from(body),
        onWritten,
      })
    } catch (error) {
      if (!(error instanceof UpstreamFailure)) throw error
      return error
    }
  }
  return { upstream, send, lines, outcomes }
}

const later = (write: () => void, ms: number): void => void setTimeout(write, ms)

/** Writes a byte each few milliseconds, and never the last. */
const drip = (socket: net.Socket, bytes: Buffer): void => {
  let at = 0
  const timer = setInterval(() => {
    if (socket.destroyed || at === bytes.length - 1) clearInterval(timer)
    else socket.write(bytes.subarray(at, ++at))
  }, 5)
}

t.test('whole answers come back as they are', async t => {
  type Case = [name: string, script: Script, status: number, contentType: string, body: string]
  const cases: Case[] = [
    ['an answer', s => s.write(answer('{"a": 1}')), 200, 'application/json', '{"a": 1}'],
    [
      'counts with status 400',
      s => s.write(answer('{"attempted":2}\n', { status: '400 Bad Request' })),
      400,
      'application/json',
      '{"attempted":2}\n',
    ],
    [
      'an HTML page with 429',
      s =>
        s.write(answer('<html>', { status: '429 Slow', lines: ['Content-Type: text/html; a=b'] })),
      429,
      'text/html; a=b',
      '<html>',
    ],
    ['no content type', s => s.write(answer('x', { lines: [] })), 200, '', 'x'],
    ['an empty body', s => s.write(answer('', { status: '503 Busy', lines: [] })), 503, '', ''],
    ['no body at all', s => s.write('HTTP/1.1 204 No Content\r\n\r\n'), 204, '', ''],
    [
      'a redirect, which is not followed',
      s => s.write(answer('', { status: '302 Found', lines: ['Location: http://127.0.0.1:1/'] })),
      302,
      '',
      '',
    ],
    [
      'chunks',
      s =>
        s.write(
          'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n',
        ),
      200,
      '',
      'abc',
    ],
    [
      'in two packets',
      s => {
        const bytes = answer('{"in":"two"}')
        s.write(bytes.subarray(0, 70))
        later(() => s.write(bytes.subarray(70)), 20)
      },
      200,
      'application/json',
      '{"in":"two"}',
    ],
    ['up to the close', s => s.end('HTTP/1.1 200 OK\r\n\r\nall of it'), 200, '', 'all of it'],
    [
      'a body that looks like an answer, in its own packet',
      s => {
        const inner = answer('inner')
        const outer = answer(inner)
        s.write(outer.subarray(0, -inner.length))
        later(() => s.write(inner), 20)
      },
      200,
      'application/json',
      answer('inner').toString(),
    ],
    [
      'early hints, and it in its own packet',
      s => {
        s.write('HTTP/1.1 103 Early\r\n\r\n')
        later(() => s.write(answer('x')), 20)
      },
      200,
      'application/json',
      'x',
    ],
    [
      'early hints before it',
      s => s.write(Buffer.concat([Buffer.from('HTTP/1.1 103 Early\r\n\r\n'), answer('x')])),
      200,
      'application/json',
      'x',
    ],
    [
      'a type that is not ASCII',
      s => s.write(answer('x', { lines: ['Content-Type: text/plain; a=é'] })),
      200,
      'text/plain; a=é',
      'x',
    ],
  ]
  for (const [name, script, status, contentType, body] of cases)
    t.test(name, async t => {
      const raw = await openRawUpstream(t, script)
      const { send } = await open(t, [raw.url])
      const reply = await send('{}')
      if (reply instanceof UpstreamFailure) throw reply
      t.strictSame([reply.status, reply.contentType], [status, contentType])
      t.equal(reply.body.toString(), body)
      t.equal(raw.received.length, 1)
    })
})

t.test('one connection takes the next request as soon as an answer is complete', async t => {
  const raw = await openRawUpstream(t, (s, { body }) => s.write(answer(body)))
  const { send } = await open(t, [raw.url])
  for (let nth = 0; nth < 50; nth++) {
    const reply = await send(String(nth))
    if (reply instanceof UpstreamFailure) throw reply
    t.equal(reply.body.toString(), String(nth))
  }
  t.equal(raw.connectionCount(), 1)
})

t.test('what an upstream says unasked answers nobody', async t => {
  let closedCount = 0
  const raw = await openRawUpstream(t, (s, { body }) => {
    s.on('close', () => closedCount++)
    s.write(answer(body))
    later(() => s.write(answer('unasked')), 10)
  })
  const { send, lines } = await open(t, [raw.url])
  for (let nth = 0; nth < 3; nth++) {
    const reply = await send('asked')
    if (reply instanceof UpstreamFailure) throw reply
    t.equal(reply.body.toString(), 'asked')
    await until('the connection is given up', () => closedCount > nth)
  }
  t.strictSame([raw.connectionCount(), lines], [3, []])
})

t.test('of the headers only what a client may have', async t => {
  const lines = [
    'Content-Type: a/b',
    'Set-Cookie: session=1',
    'Server: upstream/1',
    'Via: proxy',
    'X-Powered-By: them',
    'Retry-After: 7',
    'Content-Encoding: identity',
    'Connection: keep-alive',
  ]
  const raw = await openRawUpstream(t, s => s.write(answer('x', { lines })))
  const { send } = await open(t, [raw.url])
  const reply = await send('{}')
  if (reply instanceof UpstreamFailure) throw reply
  t.strictSame(reply.headers, { 'retry-after': '7', 'content-encoding': 'identity' })
})

t.test('a credential that is repeated does not come back', async t => {
  const secret = 'hml-canary/+é'.replace('é', '')
  const script: Script = (s, { head }) => {
    const lines = [`Content-Type: text/plain; key=${secret}`]
    s.write(
      answer(`ä ${/^x-api-key: (.*)$/m.exec(head)?.[1]} of ${head.split('\r\n')[0]}`, { lines }),
    )
  }
  const raw = await openRawUpstream(t, script)
  for (const credentialIn of ['header', 'query']) {
    const { send } = await open(t, [raw.url], { credential: new Secret(secret), credentialIn })
    const reply = await send('{}')
    if (reply instanceof UpstreamFailure) throw reply
    t.notMatch(reply.body.toString(), /canary/)
    t.match(reply.body.toString(), /^ä [^]*\[redacted\]/)
    t.equal(reply.contentType, 'text/plain; key=[redacted]')
  }
})

t.test('a request is what was given, with the credential', async t => {
  const raw = await openRawUpstream(t)
  const inHeader = await open(t, [`${raw.url}/base/`])
  await inHeader.send('{"é": 1}')
  const inQuery = await open(t, [raw.url], { credentialIn: 'query', credentialName: 'api-key' })
  await inQuery.send('a')
  await inQuery.send('b', '/send?mode=x')
  const [first, second, third] = raw.received
  t.equal(first?.body.toString(), '{"é": 1}')
  t.strictSame(first?.head.split('\r\n').toSorted(), [
    'POST /base/send HTTP/1.1',
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

t.test('what is no whole answer, once bytes were written, counts as no response', async t => {
  const big = Buffer.alloc(10 * 1024 ** 2, 'x')
  const cases: [name: string, script: Script, reason: RegExp][] = [
    ['nothing', () => {}, /no whole answer in 300 ms/],
    ['headers alone', s => s.write(answer('abc').subarray(0, -3)), /no whole answer/],
    ['a drip', s => drip(s, answer('x'.repeat(500))), /no whole answer/],
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
      '10 MB up to the close',
      s => s.end(Buffer.concat([Buffer.from('HTTP/1.1 200 OK\r\n\r\n'), big])),
      /exceeds 1048576 bytes/,
    ],
    ['headers without an end', s => s.write(`HTTP/1.1 200 OK\r\nA: ${big}`), /HEADERS_OVERFLOW/],
    ['a status beyond all', s => s.write(answer('', { status: '799 Odd' })), /status 799/],
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
      const { send, upstream, outcomes, lines } = await open(t, [raw.url, other.url], {
        // Where it is not the time that ends it, it has time enough.
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
    const { send } = await open(t, [raw.url, other.url])
    const failure = await send('{}')
    t.match(failure, { kind: 'no-response' })
    t.equal(other.received.length, 0, 'the kernel may have taken the bytes')
  })
})

t.test('without a connection the next URL is tried, in time', async t => {
  const refused = `http://127.0.0.1:${await refusedPort()}`
  const blackhole = `http://127.0.0.1:${await blackholePort(t)}`
  const noName = 'http://nowhere.invalid'
  const noTls = await openRawUpstream(t, s => s.write('no TLS'))
  const cases: [name: string, urls: string[], reason: RegExp, atLeastMs: number][] = [
    ['a closed port', [refused], /ECONNREFUSED/, 0],
    ['no such name', [noName], /ENOTFOUND|EAI_AGAIN|CONNECT_TIMEOUT/, 0],
    ['no answer to the first packet', [blackhole], /CONNECT_TIMEOUT/, 595],
    ['no TLS', [noTls.url.replace('http', 'https')], /./, 0],
    ['one after the other', [refused, blackhole, refused], /ECONNREFUSED/, 595],
  ]
  for (const [name, urls, reason, atLeastMs] of cases)
    t.test(name, async t => {
      const alone = await open(t, urls, { connectMs: 600 })
      const startMs = performance.now()
      const failure = await alone.send('{}')
      const elapsedMs = performance.now() - startMs
      t.match(failure, { kind: 'unreachable', message: reason })
      t.ok(elapsedMs >= atLeastMs && elapsedMs < atLeastMs + 2_000, `${elapsedMs} ms`)
      t.strictSame(alone.outcomes, ['unreachable'])

      const raw = await openRawUpstream(t)
      const both = await open(t, [...urls, raw.url], { connectMs: 600 })
      let written = 0
      t.match(await both.send('{}', '/send', () => written++), { status: 200 })
      t.equal(written, 1)
      const againMs = performance.now()
      t.match(await both.send('{}'), { status: 200 })
      t.ok(performance.now() - againMs < 550, 'the next request does not wait for it again')
      t.equal(raw.received.length, 2)
      t.equal(both.lines.length, urls.length, 'said once for each')
    })
})

/** Asks over TLS in a process that trusts the test's certificate: Node reads those at its start. */
const ASK_BY_TLS = `
const [, upstreamUrl, optionsUrl, url] = process.argv
const { Upstream } = await import(upstreamUrl)
const { defaults } = await import(optionsUrl)
const log = { warn() {}, info() {} }
const options = { ...defaults, pingPath: '', urls: [url] }
const upstream = new Upstream(options, { log, now: () => performance.now() })
const sent = upstream.send({ method: 'POST', path: '/send', headers: {}, body: Buffer.from('{}') })
console.log(await sent.then(({ status, body }) => status + ' ' + body, failure => failure.kind))
await upstream.close()
`

t.test('over TLS, where the certificate is trusted', async t => {
  const file = (name: string): string =>
    fileURLToPath(new URL(`../../native/ingest/tests/geyser_reader/tls/${name}`, import.meta.url))
  const built = (name: string): string =>
    new URL(`../../dist/upstream/${name}`, import.meta.url).href
  const seen: string[] = []
  const server = tls.createServer(
    { key: readFileSync(file('key.pem')), cert: readFileSync(file('cert.pem')) },
    socket => {
      socket.on('error', () => {})
      socket.on('data', data => {
        seen.push(String(data))
        socket.write(answer('secret'))
      })
    },
  )
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  const ask = (trusted: string): Promise<string> =>
    new Promise((resolve, reject) =>
      execFile(
        process.execPath,
        [
          '--input-type=module',
          '--eval',
          ASK_BY_TLS,
          built('client.js'),
          built('options.js'),
          `https://127.0.0.1:${port}`,
        ],
        { env: { PATH: process.env['PATH'], NODE_EXTRA_CA_CERTS: trusted }, timeout: 20_000 },
        (error, stdout) => (error ? reject(error) : resolve(stdout.trim())),
      ),
    )
  t.equal(await ask(file('cert.pem')), '200 secret')
  t.match(seen.join(''), /^POST \/send HTTP\/1.1\r\n/)
  seen.length = 0
  t.equal(await ask(''), 'unreachable')
  t.strictSame(seen, [], 'nothing is said to a stranger')
})

t.test('the first URL is taken again as soon as a ping reaches it', async t => {
  const port = await refusedPort()
  const second = await openRawUpstream(t)
  const { send } = await open(t, [`http://127.0.0.1:${port}`, second.url], {
    pingPath: '/ping',
    pingMs: 20,
  })
  t.match(await send('1'), { status: 200 })
  t.equal(second.received.length, 1)
  const first = await openRawUpstream(t, undefined, { port })
  await until('it was pinged', () => first.pings.length > 2)
  t.match(await send('2'), { status: 200 })
  t.strictSame([first.received.length, second.received.length], [1, 1])
})

t.test('connections are there before they are needed, and stay', async t => {
  const raw = await openRawUpstream(t)
  const { send } = await open(t, [`${raw.url}/base`], {
    pingPath: '/ping',
    pingMs: 25,
    warmCount: 3,
    idleMs: 500,
  })
  await until('they are open', () => raw.pings.length >= 3)
  t.equal(raw.connectionCount(), 3)
  t.match(raw.pings[0]?.head, new RegExp(`^GET /base/ping HTTP/1.1\r\n[^]*x-api-key: ${CANARY}`))
  await until('many pings later', () => raw.pings.length >= 80)
  t.match(await send('1'), { status: 200 })
  t.equal(raw.connectionCount(), 3, 'still the same')
})

t.test('what is over the bound is refused at once, and nothing is written', async t => {
  const sockets: net.Socket[] = []
  const raw = await openRawUpstream(t, socket => sockets.push(socket))
  const { send, upstream, outcomes } = await open(t, [raw.url], {
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
  'closed in the middle: a written request has no response, others are unreachable',
  async t => {
    const raw = await openRawUpstream(t, () => {})
    const { send, upstream } = await open(t, [raw.url])
    const sent = send('1')
    await until('it came', () => raw.received.length === 1)
    await upstream.close()
    t.match(await sent, { kind: 'no-response' })
    t.match(await send('2'), { kind: 'unreachable' })
    t.equal(raw.received.length, 1)
  },
)

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

t.test('whatever goes wrong, nothing is sent twice', async t => {
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
  const { send, outcomes } = await open(t, [refused, raw.url], {
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
  t.equal(new Set(received).size, received.length, 'none twice')
  t.ok(
    received.every(id => written.has(id)),
    'none without notice',
  )
  t.equal(outcomes.length, 2_000, 'each ends once')
  t.equal(outcomes.filter(outcome => outcome === 'unreachable').length, 0)
  t.ok(outcomes.filter(outcome => outcome === '2xx').length > 500)
  t.ok(outcomes.filter(outcome => outcome === 'no-response').length > 200)
})
