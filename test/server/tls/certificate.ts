import { chmodSync, copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  CertificateError,
  certificatesOf,
  readCertificate,
  type CertificateFiles,
} from '../../../src/server/tls/certificate.js'
import { makeCertificate } from '../../fixtures/server/certificates.js'

const DAY_MS = 86_400_000

/** Why a certificate is refused. */
const explain = (files: CertificateFiles, nowMs: number): string => {
  try {
    readCertificate(files, nowMs)
    return ''
  } catch (error) {
    return error instanceof CertificateError ? error.message : `another error: ${String(error)}`
  }
}

t.test('a certificate that cannot serve is refused with a line that names its file', t => {
  const dir = t.testdir({ none: '', text: 'no PEM' })
  const path = (name: string): string => join(dir, name)
  const good = makeCertificate(dir, 'good', { days: 30 })
  const other = makeCertificate(dir, 'other')
  const weak = makeCertificate(dir, 'weak', { key: ['rsa:1024'] })
  const ended = makeCertificate(dir, 'ended', { hasEnded: true })
  writeFileSync(path('large'), Buffer.alloc(256 * 1024 + 1))
  writeFileSync(path('text.key'), 'no key', { mode: 0o600 })
  copyFileSync(good.keyFile, path('open.key'))
  chmodSync(path('open.key'), 0o640)
  const locked = makeCertificate(dir, 'locked', { password: 'canary' })
  const now = Date.now()

  const { endMs } = readCertificate(good, now)
  t.ok(Math.abs(endMs - now - 30 * DAY_MS) < DAY_MS, 'when it ends')

  const cases: [
    name: string,
    certFile: string,
    keyFile: string,
    message: string,
    nowMs?: number,
  ][] = [
    ['no certificate', path('absent'), good.keyFile, `${path('absent')} does not exist`],
    ['a folder', dir, good.keyFile, `${dir} cannot be read`],
    ['no PEM', path('text'), good.keyFile, `${path('text')} is no certificate in PEM`],
    ['a long file', path('large'), good.keyFile, `${path('large')} has more than 262144 bytes`],
    ['no key', good.certFile, path('absent'), `${path('absent')} does not exist`],
    ['no PEM of a key', good.certFile, path('text.key'), 'text.key is no private key in PEM'],
    ['the key of another', good.certFile, other.keyFile, `is not the key of ${good.certFile}`],
    ['a key that others may read', good.certFile, path('open.key'), 'run: chmod 600'],
    ['a key with a password', locked.certFile, locked.keyFile, `${locked.keyFile} has a password`],
    [
      'a short key',
      weak.certFile,
      weak.keyFile,
      `${weak.certFile} is refused: its RSA key has 1024 bits, not 2048 to 4096`,
    ],
    [
      'its end',
      ended.certFile,
      ended.keyFile,
      `${ended.certFile} ended on Feb  1 00:00:00 2020 GMT`,
    ],
    ['later', good.certFile, good.keyFile, `${good.certFile} ended on`, now + 31 * DAY_MS],
    ['before', good.certFile, good.keyFile, `${good.certFile} is valid from`, now - DAY_MS],
  ]
  for (const [name, certFile, keyFile, message, nowMs = now] of cases)
    t.match(explain({ certFile, keyFile }, nowMs), message, name)
  t.end()
})

t.test('certificates are in the order of their precedence', t => {
  const [one, two] = [
    { certFile: 'a', keyFile: 'b' },
    { certFile: 'c', keyFile: 'd' },
  ]
  t.strictSame(certificatesOf(one), [one])
  t.match(certificatesOf({ ...one, sni: [two] }), [one, two])
  t.end()
})
