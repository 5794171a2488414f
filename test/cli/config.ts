import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openCommands } from '../fixtures/processes/commands.js'
import { ownDir } from '../fixtures/own-dir.js'
import { makeCertificate } from '../fixtures/server/certificates.js'

const run = openCommands(t)

/** Runs `config check` on a file; its output without the name of the file. */
const check = async (t: Test, text: string, ...args: readonly string[]) => {
  const file = join(ownDir(t), 'slotline.toml')
  writeFileSync(file, text, { mode: 0o600 })
  const { code, output } = await run('config', 'check', ...args, file)
  return { code, lines: output.replaceAll(`${file}:`, '').trim().split('\n') }
}

t.test('every mistake of a file is found in one run', async t => {
  const text = `dataDirs = "x"
[[networks]]
id = "Main"
  [networks.feed]
  endpont = "http://127.0.0.1:1"
  caFile = "ca.pem"
[[networks]]
feed = { endpoint = "http://127.0.0.1:1", plan = "narrow" }
snapshots = ["snapshot.tar.zst"]
[[locations]]
id = "fra"
name = "Frankfurt"
listeners = [{ host = "127.0.0.1", port = 9464 }]
[processes]
drainMs = 1_000
edgeCount = "8"
[store]
readersMax = 16
`
  const { code, lines } = await check(t, text)
  t.equal(code, 1)
  t.strictSame(
    lines.map(line => line.replace(/need \d+|but \d+ edges/g, 'N').replace(/\/\S+\//g, '')),
    [
      'slotline: 1: dataDirs is unknown; did you mean dataDir?',
      'slotline: 3: networks[0].id must be up to 32 of a–z, 0–9 and -, not beginning with -, but is "Main"',
      'slotline: 5: networks[0].feed.endpont is unknown; did you mean endpoint?',
      'slotline: 7: networks[1].id is missing',
      'slotline: 8: networks[1].feed.plan: narrow needs a scope',
      'slotline: 13: 127.0.0.1:9464 is used by metrics and by location fra',
      'slotline: 16: processes.edgeCount must be an integer from 0 to 252 (count), but is "8"',
      'slotline: 6: networks[0].feed.caFile: ca.pem does not exist',
      'slotline: 18: store.readersMax is 16, N and the other processes N',
      'slotline: warning: 9: networks[1].snapshots[0]: snapshot.tar.zst does not exist',
      'slotline: warning: 15: processes.drainMs is 1000, but processes.drainNoticeMs and server.drainMs take up to 17000 and the end 500: requests in flight may be terminated',
    ],
  )
})

const valid = (port: number): string => `[[networks]]
id = "main"
feed = { endpoint = "http://127.0.0.1:1" }
[[locations]]
id = "fra"
name = "Frankfurt"
listeners = [{ host = "0.0.0.0", port = ${port} }]
`

t.test('one port on two hosts, and more edges than cores', async t => {
  const cases: [host: string, port: number, message?: string][] = [
    ['127.0.0.1', 9464, 'port 9464 is used by metrics and by location fra, on 127.0.0.1 and on'],
    ['::1', 9464],
    ['127.0.0.1', 9463],
  ]
  for (const [host, port, message] of cases) {
    const { code, lines } = await check(
      t,
      `${valid(9464)}[metrics]\nhost = "${host}"\nport = ${port}\n`,
    )
    t.equal(code, message === undefined ? 0 : 1, `${host} ${port}`)
    t.match(lines.join('\n'), message ?? / is valid$/m)
  }
  const edges = availableParallelism() + 1
  const many = `${valid(8899)}[processes]\nedgeCount = ${edges}\n`
  const warning = `processes.edgeCount is ${edges}, but this machine has ${edges - 1} cores`
  const { code, lines } = await check(t, many)
  t.equal(code, 0, 'a warning is no fault')
  t.match(lines, [`slotline: warning: 9: ${warning}`])
  t.equal((await check(t, many, '--strict')).code, 1)
})

t.test('what the bounds of a feed mean, at its rate', async t => {
  const all = '[store]\nfeedMs = 90_000\n[bootstrap]\nspoolBytesMax = 1_000_000\n'
  const { code, lines } = await check(t, valid(8899) + all)
  t.equal(code, 0)
  t.match(lines, [
    / is valid$/,
    'main, if its feed brings 225 MB/s:',
    /^ +\d+ s +\d\.\d GB {2}incomplete blocks in memory, and as much for the writer \(feed\.bufferBytesMax\)$/,
    /^ +90 s +5\.1 GB {2}changes of the last slots, .* \(store\.feedMs\)$/,
    /^ +0 s +0\.0 GB {2}blocks that wait while a store is loaded \(bootstrap\.spoolBytesMax\)$/,
  ])
  const slower = await check(t, valid(8899) + all, '--feed-rate', '1')
  t.match(slower.lines.slice(1), [
    'main, if its feed brings 1 MB/s:',
    / min +\d\.\d GB {2}incomplete/,
    /^ +90 s +0\.0 GB/,
    /^ +4 s +0\.0 GB/,
  ])
  t.equal((await check(t, valid(8899), '--feed-rate', '0')).code, 2)
})

t.test('what only serve would refuse is found too', async t => {
  const dir = ownDir(t)
  const file = join(dir, 'slotline.toml')
  writeFileSync(
    file,
    `${valid(8899)}[networks.rpc.upstream]\nurls = ["http://a/"]\ncredential = "x"\n`,
  )
  chmodSync(file, 0o644)
  const open = await run('config', 'check', file)
  t.equal(open.code, 1)
  t.match(open.output, /is open to others \(mode 644\)/)
  mkdirSync(join(dir, 'ca.pem'))
  writeFileSync(
    file,
    `${valid(8899)}[networks.accountsRpc]\nendpoint = "http://a"\ncaFile = "ca.pem"\n`,
  )
  const folder = await run('config', 'check', file)
  t.match(folder.output, 'networks[0].accountsRpc.caFile: ' + join(dir, 'ca.pem') + ' is no file')
  const served = await run('serve', '--config', file)
  t.equal(served.code, 1)
  t.match(served.output, /^slotline: networks\[0\]\.accountsRpc\.caFile: \S+ is no file\n$/)
})

t.test('certificates that cannot serve, and one that ends soon', async t => {
  const dir = mkdtempSync(join(tmpdir(), 'slotline-certificates-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  const own = makeCertificate(dir, 'own', { days: 9 })
  const other = makeCertificate(dir, 'other')
  const tables = [
    { certFile: own.certFile, keyFile: own.keyFile },
    { certFile: other.certFile, keyFile: own.keyFile },
    { certFile: join(dir, 'absent.pem'), keyFile: own.keyFile },
  ].map(({ certFile, keyFile }) => `certFile = "${certFile}"\nkeyFile = "${keyFile}"\n`)
  const [first, ...sni] = tables
  const listener = (sniTables: readonly string[]): string =>
    [
      valid(8899).replace(/^listeners.*\n/m, ''),
      '[[locations.listeners]]\nhost = "0.0.0.0"\nport = 8899\n[locations.listeners.tls]\n',
      first,
      ...sniTables.map(table => `[[locations.listeners.tls.sni]]\n${table}`),
    ].join('')
  const shown = (lines: readonly string[]): string[] =>
    lines.map(line => line.replaceAll(`${dir}/`, ''))

  const good = await check(t, listener([]))
  t.equal(good.code, 0)
  t.strictSame(shown(good.lines).slice(0, 1), [
    'slotline: warning: 10: locations[0].listeners[0].tls: own.pem ends in 8 days',
  ])
  const bad = await check(t, listener(sni))
  t.equal(bad.code, 1)
  t.strictSame(shown(bad.lines), [
    'slotline: 13: locations[0].listeners[0].tls.sni[0]: own.key is not the key of other.pem',
    'slotline: 16: locations[0].listeners[0].tls.sni[1]: absent.pem does not exist',
    'slotline: warning: 10: locations[0].listeners[0].tls: own.pem ends in 8 days',
  ])
})
