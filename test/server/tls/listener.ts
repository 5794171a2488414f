import { once } from 'node:events'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { connect as connectPlain } from 'node:net'
import tls, { type ConnectionOptions, type TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { Agent, request } from 'undici'
import { openTestServer, post, replyCount } from '../../fixtures/server/server.js'
import { makeCertificate } from '../../fixtures/server/certificates.js'
import { until } from '../../fixtures/until.js'

/** Often, so that a test does not wait. */
const CHECK_SECONDS = 0.02

const HOSTS = ['localhost', 'main.example']
const DIR = t.testdir()
const MAIN = makeCertificate(DIR, 'main', { hosts: HOSTS })
const WILD = makeCertificate(DIR, 'wild', { hosts: ['wild.example', '*.wild.example'] })
const RSA = makeCertificate(DIR, 'rsa', { hosts: ['rsa.example'], key: ['rsa:2048'] })

const open = async (t: Test, files = { ...MAIN, sni: [WILD, RSA] }) => {
  const { port, server, lines } = await openTestServer(t, [{ bodyBytesMax: 1e6 }], {
    listeners: [{ host: '127.0.0.1', port: 0, tls: files }],
    options: { certificateCheckSeconds: CHECK_SECONDS },
  })
  return { port, server, lines }
}

/** Resolves with the connection, or with the code of the failure. */
const handshake = (port: number, options: ConnectionOptions = {}): Promise<TLSSocket | string> =>
  new Promise(resolve => {
    const socket = tls.connect({ port, rejectUnauthorized: false, ...options }, () =>
      resolve(socket),
    )
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
  })

const established = async (
  t: Test,
  port: number,
  options?: ConnectionOptions,
): Promise<TLSSocket> => {
  const socket = await handshake(port, options)
  if (typeof socket === 'string') throw new Error(socket)
  t.teardown(() => socket.destroy())
  return socket
}

const nameOf = (socket: TLSSocket): string => String(socket.getPeerCertificate().subject.CN)

/** Status of the answer to one more request on a connection. */
const ask = async (socket: TLSSocket): Promise<string> => {
  let received = ''
  const take = (chunk: Buffer): void => void (received += chunk.toString('latin1'))
  socket.on('data', take)
  socket.write(post('/t', 'hello'))
  while (replyCount(received) === 0) await once(socket, 'data')
  socket.off('data', take)
  return received.slice(9, 12)
}

t.test('a client that verifies the certificate reads', async t => {
  const { port } = await open(t)
  const dispatcher = new Agent({ connect: { ca: readFileSync(MAIN.certFile) } })
  t.teardown(() => dispatcher.close())
  const url = `https://localhost:${port}/t`
  const bodies = ['', 'x'.repeat(100), 'x'.repeat(999_999)]
  for (const body of bodies) {
    const reply = await request(url, { method: 'POST', body, dispatcher })
    t.equal(await reply.body.text(), String(body.length))
  }
})

t.test('versions', async t => {
  const { port } = await open(t)
  for (const version of ['TLSv1.3', 'TLSv1.2'] as const) {
    const socket = await established(t, port, { minVersion: version, maxVersion: version })
    t.equal(socket.getProtocol(), version)
    t.equal(await ask(socket), '200')
  }
  const old = {
    minVersion: 'TLSv1.1',
    maxVersion: 'TLSv1.1',
    ciphers: 'DEFAULT@SECLEVEL=0',
  } as const
  t.equal(await handshake(port, old), 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION')
  const weak = { maxVersion: 'TLSv1.2', ciphers: 'AES128-SHA' } as const
  t.match(await handshake(port, weak), /ALERT_HANDSHAKE_FAILURE/, 'a weak cipher')
})

t.test('protocols that a client offers', async t => {
  const { port } = await open(t)
  const cases: [offered: string[], selected: string | false][] = [
    [['http/1.1'], 'http/1.1'],
    [['h2', 'http/1.1'], 'http/1.1'],
    [[], false],
  ]
  for (const [ALPNProtocols, selected] of cases)
    t.equal((await established(t, port, { ALPNProtocols })).alpnProtocol, selected)
  const refused = 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL'
  for (const ALPNProtocols of [['h2'], ['h2', 'http/1.0']])
    t.equal(await handshake(port, { ALPNProtocols }), refused)
})

t.test('the host that a client names selects the certificate', async t => {
  const { port } = await open(t)
  const cases: [host: string | undefined, name: string][] = [
    [undefined, 'localhost'],
    ['main.example', 'localhost'],
    ['MAIN.example', 'localhost'],
    ['wild.example', 'wild.example'],
    ['a.wild.example', 'wild.example'],
    ['a.b.wild.example', 'localhost'],
    ['rsa.example', 'rsa.example'],
    ['unknown.example', 'localhost'],
  ]
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const)
    for (const [host, name] of cases) {
      const named = host === undefined ? {} : { servername: host }
      const socket = await established(t, port, { maxVersion, ...named })
      t.equal(nameOf(socket), name, `${host} by ${maxVersion}`)
      t.equal(await ask(socket), '200')
    }
})

t.test('a session is resumed without a second handshake', async t => {
  const { port } = await open(t)
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const first = await established(t, port, { maxVersion })
    await ask(first)
    const session = first.getSession()
    t.ok((await established(t, port, { maxVersion, session })).isSessionReused())
  }
})

t.test('a renegotiation is refused', async t => {
  const { port } = await open(t)
  const socket = await established(t, port, { maxVersion: 'TLSv1.2' })
  t.equal(await ask(socket), '200')
  const failure = await new Promise<Error | null>(resolve => {
    socket.renegotiate({ rejectUnauthorized: false }, resolve)
    socket.once('error', resolve)
  })
  t.match(failure, { code: 'ERR_SSL_NO_RENEGOTIATION' })
})

t.test('what is no TLS is closed, and an HTTP request answered', async t => {
  const { port, server } = await open(t)
  const send = async (bytes: Buffer | string): Promise<string> => {
    const socket = connectPlain({ port, host: '127.0.0.1' })
    socket.write(bytes)
    let received = ''
    socket.on('data', chunk => void (received += chunk.toString('latin1')))
    // Of more than a record, the rest is not read.
    socket.on('error', () => {})
    await new Promise(resolve => socket.once('close', resolve))
    return received
  }
  t.match(
    await send(post('/t', 'hello')),
    /^HTTP\/1\.1 400 [^]*\r\nConnection: close\r\n[^]*This port speaks TLS/,
  )
  for (const garbage of [Buffer.alloc(20_000, 7), Buffer.from('SSH-2.0-x\r\n'), Buffer.alloc(600)])
    t.notMatch(await send(garbage), 'HTTP')
  await until('all are closed', () => server.stats().connections === 0)
})

t.test('a certificate that changes on the disk is used for new connections', async t => {
  const dir = t.testdir()
  const files = makeCertificate(dir, 'own', { hosts: ['one.example'] })
  const { port, server, lines } = await open(t, { ...files, sni: [WILD, RSA] })
  const first = await established(t, port)
  t.equal(nameOf(first), 'one.example')

  makeCertificate(dir, 'own', { hosts: ['two.example'], days: 30 })
  await until(
    'the new one is used',
    async () => nameOf(await established(t, port)) === 'two.example',
  )
  t.equal(nameOf(await established(t, port, { servername: 'a.wild.example' })), 'wild.example')
  t.match(lines.join(''), 'a listener has a new certificate')
  const [state] = server.certificates()
  const days = ((state?.endMs ?? 0) - Date.now()) / 86_400_000
  t.ok(days > 29 && days <= 30, `${days} days`)
  t.equal(await ask(first), '200', 'the connection goes on')
  t.equal(nameOf(first), 'one.example')
})

t.test('files that cannot be used leave what a listener has', async t => {
  const dir = t.testdir()
  const files = makeCertificate(dir, 'own', { hosts: ['one.example'] })
  const { port, server, lines } = await open(t, { ...files, sni: [WILD, RSA] })
  const isRefused = (): boolean => server.certificates()[0]?.isRefused === true
  const other = makeCertificate(dir, 'other', { hosts: ['two.example'] })
  const ended = makeCertificate(dir, 'ended', { hosts: ['old.example'], hasEnded: true })

  const steps: [name: string, change: () => void, why: RegExp][] = [
    ['a key of another', () => copyFileSync(other.keyFile, files.keyFile), /is not the key of/],
    ['no PEM', () => writeFileSync(files.certFile, '-----BEGIN'), /no certificate in PEM/],
    ['one that has ended', () => copyFileSync(ended.certFile, files.certFile), /ended on/],
  ]
  for (const [name, change, why] of steps) {
    const before = lines.length
    change()
    await until(`it is refused: ${name}`, () => isRefused() && lines.length > before)
    t.match(lines.at(-1), why)
    t.notMatch(lines.at(-1), 'PRIVATE KEY')
    t.equal(nameOf(await established(t, port)), 'one.example', name)
  }
  copyFileSync(other.certFile, files.certFile)
  await until('a whole pair is used', () => !isRefused())
  t.equal(nameOf(await established(t, port)), 'two.example')
  t.strictSame(
    server.certificates().map(state => state.isRefused),
    [false, false, false],
  )
})

t.test('a server does not open with a certificate that cannot be used', async t => {
  const mismatched = { certFile: MAIN.certFile, keyFile: WILD.keyFile }
  await t.rejects(open(t, { ...mismatched, sni: [WILD, RSA] }), /is not the key of/)
})
