import { closeSync } from 'node:fs'
import t from 'tap'
import { openDatagrams } from '../../../src/native/os.js'
import { QuicServer } from '../../../src/server/quic/quic-server.js'
import { createLog } from '../../../src/shared/log.js'
import { makeCertificate } from '../../fixtures/server/certificates.js'

t.test('a server opens with its certificate, and drains', async t => {
  const descriptor = openDatagrams('127.0.0.1', 0)
  t.teardown(() => closeSync(descriptor))
  const tls = makeCertificate(t.testdir(), 'listener')
  const parts = {
    descriptor,
    slot: 0,
    resetKey: new Uint8Array(32),
    open: () => 'invalid_auth' as const,
    log: createLog('test', () => {}),
  }
  const server = new QuicServer({ ...parts, tls })
  t.match(server.states(), [{ certFile: tls.certFile, isRefused: false }])
  t.ok(server.port > 0)
  t.match(server.stats(), { connections: 0, streams: 0 })
  await server.drain(1_000)
  t.equal(server.stats(), undefined)
  server.close()
  const plain = new QuicServer(parts)
  t.strictSame(plain.states(), [])
  plain.close()
  await plain.drain(1_000)
  const broken = { ...tls, keyFile: tls.certFile }
  t.throws(() => new QuicServer({ ...parts, tls: broken }), { name: 'CertificateError' })
})
