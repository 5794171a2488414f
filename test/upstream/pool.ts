import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type net from 'node:net'
import tls from 'node:tls'
import t from 'tap'
import { UpstreamFailure } from '../../src/upstream/errors.js'
import { moduleUrl, repositoryPath } from '../fixtures/repository.js'
import { until } from '../fixtures/until.js'
import { answer, openRawUpstream } from '../fixtures/submission/raw-upstream.js'
import { CANARY, later, openUpstream } from '../fixtures/upstream/client.js'

t.test('a connection is used again as soon as an answer is complete', async t => {
  const raw = await openRawUpstream(t, (s, { body }) => s.write(answer(body)))
  const { send } = await openUpstream(t, [raw.url])
  for (let nth = 0; nth < 50; nth++) {
    const reply = await send(String(nth))
    if (reply instanceof UpstreamFailure) throw reply
    t.equal(reply.body.toString(), String(nth))
  }
  t.equal(raw.connectionCount(), 1)
})

const endings: [name: string, end: (socket: net.Socket) => void][] = [
  ['closed', socket => socket.destroy()],
  ['reset', socket => socket.resetAndDestroy()],
]

for (const [name, end] of endings)
  t.test(`a connection that is ${name} right after its answer gets no other request`, async t => {
    const raw = await openRawUpstream(t, s => s.write(answer('{}'), () => end(s)))
    const { send } = await openUpstream(t, [raw.url])
    for (let nth = 0; nth < 20; nth++) t.match(await send(String(nth)), { status: 200 })
    t.equal(raw.connectionCount(), 20)
  })

t.test('bytes without a request close the connection and answer no request', async t => {
  let closedCount = 0
  const raw = await openRawUpstream(t, (s, { body }) => {
    s.on('close', () => closedCount++)
    s.write(answer(body))
    later(() => s.write(answer('unasked')), 10)
  })
  const { send, lines } = await openUpstream(t, [raw.url])
  for (let nth = 0; nth < 3; nth++) {
    const reply = await send('asked')
    if (reply instanceof UpstreamFailure) throw reply
    t.equal(reply.body.toString(), 'asked')
    await until('the connection is closed', () => closedCount > nth)
  }
  t.strictSame([raw.connectionCount(), lines], [3, []])
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
    repositoryPath(`native/ingest/tests/geyser_reader/tls/${name}`)
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
          ...process.execArgv,
          '--input-type=module',
          '--eval',
          ASK_BY_TLS,
          moduleUrl('src/upstream/client'),
          moduleUrl('src/upstream/options'),
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
  t.strictSame(seen, [], 'nothing is sent without a trusted certificate')
})

t.test('connections are opened in advance and kept open', async t => {
  const raw = await openRawUpstream(t)
  const { send } = await openUpstream(t, [`${raw.url}/base`], {
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
