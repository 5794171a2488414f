import { closeSync, copyFileSync } from 'node:fs'
import { connect } from 'node:tls'
import t from 'tap'
import { openListener } from '../../../src/native/os.js'
import { openGrpcListeners } from '../../../src/server/grpc/grpc-listeners.js'
import { defaults } from '../../../src/server/options.js'
import { createLog } from '../../../src/shared/log.js'
import { freePorts } from '../../fixtures/free-ports.js'
import { makeCertificate } from '../../fixtures/server/certificates.js'
import { until } from '../../fixtures/until.js'

const OPTIONS = { networks: [[]], threads: 1, version: 'test', updateBytesPerSecond: 2 ** 26 }

/** The name in the certificate that a client gets which names this host, and its protocol. */
const certificateOf = (port: number, servername: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const options = { port, servername, ALPNProtocols: ['h2'], rejectUnauthorized: false }
    const socket = connect({ host: '127.0.0.1', ...options }, () => {
      resolve(`${String(socket.getPeerCertificate().subject?.CN)} ${String(socket.alpnProtocol)}`)
      socket.destroy()
    })
    socket.on('error', reject)
  })

t.test('a listener has the certificates of its files', async t => {
  const dir = t.testdir()
  const port = await freePorts()
  const descriptor = openListener('127.0.0.1', port)
  t.teardown(() => closeSync(descriptor))
  const [one, two, next] = ['one', 'two', 'next'].map(name =>
    makeCertificate(dir, name, { hosts: [`${name}.test`] }),
  )
  if (one === undefined || two === undefined || next === undefined) throw new Error('no files')
  const log = createLog('test', () => {})
  const tls = { ...one, sni: [two] }
  const opened = openGrpcListeners([{ descriptor, tls }], OPTIONS, log)
  t.teardown(() => opened.close())
  t.match(opened.states(), [[{ certFile: one.certFile }, { certFile: two.certFile }]])
  t.equal(await certificateOf(port, 'one.test'), 'one.test h2')
  t.equal(await certificateOf(port, 'two.test'), 'two.test h2')
  t.equal(await certificateOf(port, 'none.test'), 'one.test h2', 'the first, for other names')
  copyFileSync(next.certFile, two.certFile)
  copyFileSync(next.keyFile, two.keyFile)
  t.ok(defaults.certificateCheckSeconds <= 2)
  await until('the new one is used', async () => {
    return (await certificateOf(port, 'next.test')) === 'next.test h2'
  })
  const { server } = opened
  t.equal(server.refresh(0), undefined, 'there is no store yet')
  t.throws(() => server.refresh(1), { message: /no such network/ })
  t.match(server.stats(), { streams: 0, refused: 0 })
  await server.settle()
  await server.drain()
})

t.test('a certificate without its key is refused', t => {
  const descriptor = openListener('127.0.0.1', 0)
  t.teardown(() => closeSync(descriptor))
  const files = makeCertificate(t.testdir(), 'listener')
  const tls = { ...files, keyFile: files.certFile }
  const log = createLog('test', () => {})
  t.throws(() => openGrpcListeners([{ descriptor, tls }], OPTIONS, log), {
    name: 'CertificateError',
  })
  t.end()
})
