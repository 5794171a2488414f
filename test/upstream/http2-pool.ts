import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { constants, createSecureServer } from 'node:http2'
import net, { type AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import t from 'tap'
import type { UpstreamOptions } from '../../src/upstream/client.js'
import { moduleUrl, repositoryPath } from '../fixtures/repository.js'
import { answer, openRawUpstream, refusedPort } from '../fixtures/submission/raw-upstream.js'
import { until } from '../fixtures/until.js'
import { CANARY, later, openUpstream } from '../fixtures/upstream/client.js'
import { openFaultyHttp2Peer } from '../fixtures/upstream/faulty-http2-peer.js'
import {
  answerHttp2,
  type Http2Request,
  NGHTTP2_CANCEL,
  NGHTTP2_INTERNAL_ERROR,
  NGHTTP2_REFUSED_STREAM,
  openHttp2Peer,
} from '../fixtures/upstream/http2-peer.js'

const open = (t: Test, urls: readonly string[], options: Partial<UpstreamOptions> = {}) =>
  openUpstream(t, urls, { httpVersion: '2', pingMs: 60_000, ...options })

/** A way to a peer on which nothing passes any more once its open connections are stopped. */
const openStoppable = async (t: Test, url: string) => {
  const pairs: net.Socket[] = []
  const server = net.createServer(socket => {
    const onward = net.connect(Number(new URL(url).port), '127.0.0.1')
    for (const [from, to] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      pairs.push(from)
      from.on('error', () => to.destroy())
      from.on('close', () => to.destroy())
      from.pipe(to)
    }
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.close()
    for (const socket of pairs) socket.destroy()
  })
  const { port } = server.address() as AddressInfo
  const stop = (): void => {
    for (const socket of pairs.splice(0)) socket.unpipe().pause()
  }
  return { url: `http://127.0.0.1:${port}`, stop }
}

t.test('a request is sent as given, and all share one connection', async t => {
  const peer = await openHttp2Peer(t, request => later(() => answerHttp2(request, request.body), 5))
  const { send } = await open(t, [`${peer.url}/base`])
  const bodies = Array.from({ length: 64 }, (_, nth) => `{"é": ${nth}}`)
  const replies = await Promise.all(bodies.map(body => send(body, '/send?mode=x')))
  t.strictSame(
    replies.map(reply => ('body' in reply ? reply.body.toString() : reply.message)),
    bodies,
  )
  t.equal(peer.counts.connections, 1)
  const [first] = peer.received
  t.equal(first?.path, '/base/send?mode=x')
  t.match(first?.headers, {
    ':method': 'POST',
    ':scheme': 'http',
    'accept-encoding': 'identity',
    'content-length': String(Buffer.byteLength(bodies[0] ?? '')),
    'content-type': 'application/json',
    'x-api-key': CANARY,
  })
})

t.test('an answer after a graceful GOAWAY is taken, and the next connection is used', async t => {
  const peer = await openHttp2Peer(t, request => {
    // Of a proxy after a number of requests: what it has it answers.
    request.session.close()
    later(() => answerHttp2(request, request.body), 20)
  })
  const { send } = await open(t, [peer.url])
  const both = [send('1'), send('2')]
  t.match(
    (await Promise.all(both)).map(one => one),
    [{ status: 200 }, { status: 200 }],
  )
  t.match(await send('3'), { status: 200 })
  t.equal(peer.counts.connections, 2)
  t.strictSame(
    peer.received.map(({ body }) => body),
    ['1', '2', '3'],
  )
})

for (const code of ['NGHTTP2_NO_ERROR', 'NGHTTP2_ENHANCE_YOUR_CALM'] as const)
  t.test(`GOAWAY, ${code}: what was not processed is full, the rest has no response`, async t => {
    const peer = await openHttp2Peer(t, ({ session }) => {
      if (peer.received.length < 3) return
      session.goaway(constants[code], peer.received[1]?.stream.id ?? 0)
      later(() => session.destroy(), 20)
    })
    const { send } = await open(t, [peer.url])
    const ends = await Promise.all([send('1'), send('2'), send('3')])
    t.match(ends, [{ kind: 'no-response' }, { kind: 'no-response' }, { kind: 'full' }])
  })

t.test('a stream that is refused was not processed, and is not sent again', async t => {
  const peer = await openHttp2Peer(t, ({ stream }) => stream.close(NGHTTP2_REFUSED_STREAM))
  const other = await openHttp2Peer(t)
  const { outcomes, send } = await open(t, [peer.url, other.url])
  t.match(await send('1'), { kind: 'full' })
  t.equal(peer.received.length, 1)
  t.equal(other.received.length, 0)
  t.strictSame(outcomes, ['full'])
})

t.test('streams are bounded by what the peer grants, on two connections', async t => {
  const peer = await openHttp2Peer(t, () => {}, { maxConcurrentStreams: 2 })
  const { send, upstream } = await open(t, [peer.url], { answerMs: 20_000 })
  let written = 0
  const sent = Array.from({ length: 12 }, (_, nth) => send(String(nth), '/send', () => written++))
  await until('four came', () => peer.received.length === 4)
  const refused = await Promise.all(Array.from({ length: 8 }, () => Promise.race(sent)))
  t.match(refused, Array(8).fill({ kind: 'full' }))
  t.equal(written, 4, 'nothing waits within the client')
  t.equal(peer.counts.connections, 2)
  for (const request of peer.received) answerHttp2(request)
  const ends = await Promise.all(sent)
  t.equal(ends.filter(end => 'status' in end).length, 4)
  t.equal(upstream.inFlight(), 0)

  const closed = await openHttp2Peer(t, answerHttp2, { maxConcurrentStreams: 0 })
  const { send: sendNone } = await open(t, [closed.url])
  t.match(await sendNone('1'), { kind: 'full' })
  t.equal(closed.received.length, 0)
})

const FAULTS: readonly [name: string, fault: (request: Http2Request) => void][] = [
  ['a reset stream', ({ stream }) => stream.close(NGHTTP2_INTERNAL_ERROR)],
  ['a stream that is cancelled', ({ stream }) => stream.close(NGHTTP2_CANCEL)],
  ['a reset connection', ({ socket }) => void socket.resetAndDestroy()],
  ['a closed connection', ({ socket }) => void socket.destroy()],
  ['a GOAWAY with an error', ({ session }) => session.destroy(new Error('x'), 11)],
  ['no answer', () => {}],
  ['a head without an end', ({ stream }) => stream.respond({ ':status': 200 })],
  ['an encoded answer', request => answerHttp2(request, 'x', { 'content-encoding': 'gzip' })],
  ['a long answer', request => answerHttp2(request, Buffer.alloc(2 * 1024 ** 2))],
  [
    'half of an answer',
    ({ stream }) => {
      stream.respond({ ':status': 200, 'content-length': 100 })
      stream.write('{"result":')
      later(() => stream.close(NGHTTP2_INTERNAL_ERROR), 10)
    },
  ],
  [
    'half of an answer, and a reset',
    ({ socket, stream }) => {
      stream.respond({ ':status': 200 })
      stream.write('{"result":')
      later(() => socket.resetAndDestroy(), 10)
    },
  ],
  [
    'many headers',
    request => {
      const names = Array.from({ length: 1_000 }, (_, nth) => [`x-${nth}`, 'y'.repeat(100)])
      answerHttp2(request, '{}', Object.fromEntries(names))
    },
  ],
]

for (const [name, fault] of FAULTS)
  t.test(`${name}: no response, and the next request is answered`, async t => {
    const peer = await openHttp2Peer(t, request =>
      request.body === 'fault' ? fault(request) : answerHttp2(request),
    )
    const { send, upstream } = await open(t, [peer.url], { answerMs: 300 })
    t.match(await send('fault'), { kind: 'no-response' })
    const next = await send('next')
    // A peer that has sent its GOAWAY meanwhile refuses it, unprocessed.
    const isRefused = 'kind' in next && next.kind === 'full'
    t.match(isRefused ? await send('next') : next, { status: 200 })
    t.equal(upstream.inFlight(), 0)
    t.equal(peer.received.length, 2, 'nothing is sent twice')
  })

t.test('a connection with bytes that are no frames is left, with no response', async t => {
  const SETTINGS = Buffer.from('000000040000000000', 'hex')
  let connections = 0
  const server = net.createServer(socket => {
    connections++
    socket.on('error', () => {})
    // The preface and settings of the client come at once, its request later.
    socket.once('data', () => {
      socket.write(SETTINGS)
      socket.on('data', data => {
        if (data.includes('asked')) socket.write(Buffer.alloc(4_096, 255))
      })
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const { send } = await open(t, [`http://127.0.0.1:${port}`], { answerMs: 200 })
  for (let nth = 1; nth <= 3; nth++) {
    t.match(await send('asked'), { kind: 'no-response' })
    t.equal(connections, nth)
  }
})

t.test('a slow answer does not end what shares its connection', async t => {
  const held: Http2Request[] = []
  const peer = await openHttp2Peer(t, request =>
    request.body === 'slow' ? void held.push(request) : answerHttp2(request),
  )
  const { send } = await open(t, [peer.url], { answerMs: 200 })
  const slow = send('slow')
  while (held.length === 0) t.match(await send('quick'), { status: 200 })
  for (let nth = 0; nth < 5; nth++) {
    await sleep(50)
    t.match(await send('quick'), { status: 200 })
  }
  t.match(await slow, { kind: 'no-response' })
  t.match(await send('quick'), { status: 200 })
  t.equal(peer.counts.connections, 1)
})

t.test('a connection on which nothing comes any more is left', async t => {
  const peer = await openHttp2Peer(t)
  const way = await openStoppable(t, peer.url)
  const { send } = await open(t, [way.url], { answerMs: 100 })
  t.match(await send('first'), { status: 200 })
  way.stop()
  t.match(await send('lost'), { kind: 'no-response' })
  t.match(await send('next'), { status: 200 })
  t.equal(peer.counts.connections, 2)
})

t.test('what does not speak HTTP/2 is unreachable, in time, and gets no request', async t => {
  const silent = net.createServer(socket => void socket.on('error', () => {}))
  await new Promise<void>(resolve => silent.listen(0, '127.0.0.1', resolve))
  t.teardown(() => silent.close())
  const { port } = silent.address() as AddressInfo
  const http1 = await openRawUpstream(t, s => s.write(answer('{}')))
  const text = await openRawUpstream(t, undefined, {
    onConnect: socket => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'),
  })
  const refused = `http://127.0.0.1:${await refusedPort()}`
  for (const url of [`http://127.0.0.1:${port}`, http1.url, text.url, refused]) {
    const { send } = await open(t, [url], { connectMs: 100 })
    let written = 0
    const sent = Array.from({ length: 20 }, () => send('1', '/send', () => written++))
    t.match(await Promise.all(sent), Array(20).fill({ kind: 'unreachable' }))
    t.equal(written, 0)
  }
  t.strictSame(new Set(http1.received.map(({ path }) => path)), new Set(['*', '']))
  const answering = await openHttp2Peer(t)
  const { send } = await open(t, [refused, answering.url])
  t.match(await send('1'), { status: 200 }, 'the next URL is asked')
})

t.test(
  'without a path to ping, PING frames keep a lane warm and find one that is stopped',
  async t => {
    const peer = await openHttp2Peer(t)
    const way = await openStoppable(t, peer.url)
    const { lines, send } = await open(t, [way.url], { pingMs: 20, connectMs: 200 })
    await until('there are PING frames', () => peer.counts.pings >= 5)
    t.equal(peer.counts.connections, 1)
    t.equal(peer.received.length, 0)
    way.stop()
    await until('another connection is open', () => lines.length >= 2)
    t.match(lines, [/an upstream failed.*|no answer to a PING in 200 ms/, 'an upstream is back'])
    t.match(await send('1'), { status: 200 })

    const asked = await openHttp2Peer(t)
    await open(t, [`${asked.url}/base`], { pingMs: 20, pingPath: '/ping' })
    await until('it is requested', () => asked.received.length >= 5)
    t.match(asked.received[0], { path: '/base/ping', headers: { ':method': 'GET' } })
    t.equal(asked.counts.connections, 1)
  },
)

t.test('a ping takes no stream of a peer that has granted all, and ends no connection', async t => {
  const held: Http2Request[] = []
  const peer = await openHttp2Peer(
    t,
    request => (request.path === '/ping' ? answerHttp2(request) : void held.push(request)),
    { maxConcurrentStreams: 1 },
  )
  const { send } = await open(t, [peer.url], { pingMs: 20, pingPath: '/ping', connectMs: 5_000 })
  const sent: ReturnType<typeof send>[] = []
  // One for which a ping has left no stream is refused.
  await until('both connections are in use', async () => {
    sent.push(send('held'))
    await sleep(5)
    return held.length === 2
  })
  const asked = peer.received.length
  await until('there are PING frames', () => peer.counts.pings >= 3)
  t.equal(peer.received.length, asked, 'no ping waits for a stream')
  for (const request of held) answerHttp2(request)
  const answered = (await Promise.all(sent)).filter(end => 'status' in end)
  t.equal(answered.length, 2)
  t.equal(peer.counts.connections, 2)
})

t.test('no failure makes a request be sent twice', async t => {
  const peer = await openFaultyHttp2Peer(t)
  const { outcomes, send } = await open(t, [peer.url], { restMs: 1, answerMs: 300 })
  const written = new Set<string>()
  const ends = new Map<string, number>()
  let next = 0
  const client = async (): Promise<void> => {
    while (next < 2_000) {
      const id = String(next++)
      const end = await send(id, '/send', () => written.add(id))
      const word = 'status' in end ? 'answered' : end.kind
      ends.set(word, (ends.get(word) ?? 0) + 1)
      if (word === 'full') await sleep(3)
    }
  }
  await Promise.all(Array.from({ length: 16 }, client))
  const received = await peer.received()
  t.equal(new Set(received).size, received.length, 'no request twice')
  t.ok(
    received.every(id => written.has(id)),
    '`onWritten` was called for each',
  )
  t.equal(outcomes.length, 2_000, 'each ends once')
  t.comment([...ends])
  for (const word of ['answered', 'no-response', 'full'])
    t.ok((ends.get(word) ?? 0) > 100, `${word}: ${ends.get(word)}`)
})

/** Asks over TLS in a process that trusts the test's certificate: Node reads those at its start. */
const ASK_BY_TLS = `
const [, upstreamUrl, optionsUrl, poolUrl, url] = process.argv
const { Upstream } = await import(upstreamUrl)
const { defaults } = await import(optionsUrl)
const { Http2Pool } = await import(poolUrl)
const log = { warn() {}, info() {} }
const options = { ...defaults, httpVersion: '2', pingPath: '/ping', urls: [url] }
const openPool = (...parts) => new Http2Pool(...parts)
const upstream = new Upstream(options, { log, now: () => performance.now(), openPool })
const sent = upstream.send({ method: 'POST', path: '/send', headers: {}, body: Buffer.from('{}') })
console.log(await sent.then(({ status, body }) => status + ' ' + body, failure => failure.kind))
await upstream.close()
`

t.test('over TLS, by ALPN, where the certificate is trusted', async t => {
  const file = (name: string): string =>
    repositoryPath(`native/ingest/tests/geyser_reader/tls/${name}`)
  const seen: string[] = []
  const pair = { key: readFileSync(file('key.pem')), cert: readFileSync(file('cert.pem')) }
  const server = createSecureServer(pair, (request, response) => {
    if (request.method === 'POST') seen.push(request.httpVersion)
    response.end('secret')
  })
  server.on('sessionError', () => {})
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const urls = ['client', 'options', 'http2-pool'].map(name => moduleUrl(`src/upstream/${name}`))
  const ask = (trusted: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const script = ['--input-type=module', '--eval', ASK_BY_TLS]
      const args = [...process.execArgv, ...script, ...urls, `https://127.0.0.1:${port}`]
      const env = { PATH: process.env['PATH'], NODE_EXTRA_CA_CERTS: trusted }
      execFile(process.execPath, args, { env, timeout: 20_000 }, (error, stdout) =>
        error ? reject(error) : resolve(stdout.trim()),
      )
    })
  t.equal(await ask(file('cert.pem')), '200 secret')
  t.strictSame(seen, ['2.0'])
  t.equal(await ask(''), 'unreachable')
  t.equal(seen.length, 1, 'nothing is sent without a trusted certificate')
})
