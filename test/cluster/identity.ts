import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { checkServers, readIdentity } from '../../src/cluster/identity.js'
import { makeCertificates } from '../fixtures/cluster/etcd.js'
import { ownDir } from '../fixtures/own-dir.js'
import { until } from '../fixtures/until.js'
import { freePorts } from '../fixtures/free-ports.js'

const HOUR_MS = 3_600_000
const YEAR_MS = 366 * 24 * HOUR_MS

t.test('a certificate that etcd would refuse is refused in one line', t => {
  const [dir, other] = [ownDir(t, {}), t.testdir({ other: {} })]
  makeCertificates(dir)
  makeCertificates(join(other, 'other'))
  const files = (name: string) => ({
    caFile: join(dir, 'ca.pem'),
    certFile: join(dir, `${name}.pem`),
    keyFile: join(dir, `${name}.key`),
  })
  const now = Date.now()
  const { cert } = readIdentity(files('fra-1'), 'fra-1', now)
  t.match(cert.toString(), /BEGIN CERTIFICATE/)
  writeFileSync(join(dir, 'text.pem'), 'hello')
  copyFileSync(join(dir, 'root.key'), join(dir, 'open.key'))
  chmodSync(join(dir, 'open.key'), 0o644)
  const own = files('fra-1')
  const cases: [name: string, files: typeof own, as: string, nowMs: number, message: RegExp][] = [
    ['of another name', own, 'fra-2', now, /fra-1\.pem is of fra-1, not of fra-2$/],
    [
      'of another authority',
      { ...own, caFile: join(other, 'other', 'ca.pem') },
      'fra-1',
      now,
      /was not issued by the authority of .*ca\.pem$/,
    ],
    [
      'expired',
      own,
      'fra-1',
      now + YEAR_MS,
      /fra-1\.pem expired on .*; make a new one and restart$/,
    ],
    ['not valid yet', own, 'fra-1', now - YEAR_MS, /is valid from .* on; check the clock$/],
    [
      'with another key',
      { ...own, keyFile: files('fra-2').keyFile },
      'fra-1',
      now,
      /fra-2\.key is not the key of .*fra-1\.pem$/,
    ],
    [
      'with an open key',
      { ...own, keyFile: join(dir, 'open.key') },
      'fra-1',
      now,
      /run: chmod 600 /,
    ],
    ['missing', files('none'), 'none', now, /none\.pem cannot be read; see docs\/cluster\.md/],
    [
      'no PEM',
      { ...own, certFile: join(dir, 'text.pem') },
      'fra-1',
      now,
      /is no certificate in PEM$/,
    ],
  ]
  for (const [name, given, as, nowMs, message] of cases)
    t.throws(() => readIdentity(given, as, nowMs), { message }, name)
  t.end()
})

t.test('a server whose clock is hours off says why it refuses a certificate', async t => {
  const dir = ownDir(t)
  makeCertificates(dir)
  const pem = (name: string): string => join(dir, name)
  const files = { caFile: pem('ca.pem'), certFile: pem('fra-1.pem'), keyFile: pem('fra-1.key') }
  const identity = readIdentity(files, 'fra-1', Date.now())
  const port = await freePorts()
  const endpoint = `https://localhost:${port}`
  const cases: [name: string, clockMs: number, problem: RegExp | undefined][] = [
    ['right', 0, undefined],
    ['two hours behind', -2 * HOUR_MS, /refuses the certificate: .*; check its clock and its /],
    ['a year ahead', YEAR_MS, /refuses the certificate: .*expired.*; check its clock and its /],
  ]
  for (const [name, clockMs, problem] of cases) {
    const atSeconds = String(Math.floor((Date.now() + clockMs) / 1_000))
    const own = ['-cert', pem('etcd.pem'), '-key', pem('etcd.key'), '-CAfile', pem('ca.pem')]
    const verify = ['-Verify', '1', '-verify_return_error', '-attime', atSeconds]
    const args = ['s_server', '-accept', String(port), '-alpn', 'h2', ...own, ...verify]
    const server = spawn('openssl', args, { stdio: ['pipe', 'pipe', 'ignore'] })
    const ended = once(server, 'close')
    let said = ''
    server.stdout.on('data', chunk => (said += String(chunk)))
    await until('it listens', () => said.includes('ACCEPT'))
    // What etcd sends at once.
    server.stdin.write('settings\n')
    const checked = checkServers([endpoint], identity, 1_000).then(() => undefined, String)
    const found = await checked
    if (problem === undefined) t.equal(found, undefined, name)
    else t.match(found, problem, name)
    server.kill('SIGKILL')
    await ended
  }
})
