import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parse, stringify } from 'smol-toml'
import t, { type Test } from 'tap'
import { parseConfig } from '../../../src/config/config.js'
import { startSandboxChain } from '../../../src/sandbox/sandbox-chain.js'
import { serveArchives } from '../../fixtures/ingest/archive-server.js'
import { examineStore } from '../../fixtures/sandbox/chain-state.js'
import { runToEnd } from '../../fixtures/processes/deployment.js'
import { prepareServe } from '../../fixtures/processes/serve.js'
import { recordChain } from '../../fixtures/ingest/snapshot-archive.js'
import { isSoak, soakSubtest } from '../../fixtures/soak.js'

const SECRET = 'api-key=qzx11'
const BOOTSTRAP = { pollMs: 30, firstBlockMs: 10_000 }

const open = async (t: Test) => {
  const chain = await startSandboxChain({ slotMs: 40, trafficPerSecond: 50 })
  t.teardown(() => chain.close())
  const record = await recordChain(chain)
  t.teardown(() => record.close())
  const files = await serveArchives(t)
  const prepared = await prepareServe(t, { one: { endpoint: chain.geyserUrl } })
  const archives = join(prepared.dataDir, '..', 'archives')
  mkdirSync(archives)
  files.serve(archives)
  const file = await record.writeRecent(archives)
  const stores = join(prepared.dataDir, 'accounts', 'one')
  return { prepared, files, file, stores }
}

t.test('an archive over a limit fails its load, and the error says which', async t => {
  const { file, files, prepared, stores } = await open(t)
  const url = `${files.url}/${basename(file)}?${SECRET}`
  const plain = parse(readFileSync(prepared.configFile, 'utf8'))
  const load = (archive: object, source: string, ...more: readonly string[]) => {
    const config = { ...plain, bootstrap: { ...BOOTSTRAP, archive } }
    writeFileSync(prepared.configFile, stringify(config))
    const args = ['--config', prepared.configFile, '--network', 'one']
    return runToEnd(t, ['snapshot', 'load', source, ...args, ...more])
  }
  files.redirects.set('loop', 'loop')
  const cases: [name: string, archive: object, source: string, message: string][] = [
    [
      'files',
      { membersMax: 2 },
      file,
      'it has more than 2 members; if it is sound, raise bootstrap\\.archive\\.membersMax',
    ],
    [
      'bytes of a file',
      { storageBytesMax: 100 },
      url,
      'a storage of slot \\d+ claims \\d+ bytes, more than 100',
    ],
    ['bytes of all', { unpackedBytesMax: 2_000 }, file, 'it unpacks to more than 2000 bytes'],
    [
      'redirects',
      { redirectsMax: 1 },
      `${files.url}/loop?${SECRET}`,
      'redirects more than 1 times',
    ],
  ]
  // A limit of an archive, and one of its server; the soak tries the others.
  const tried = isSoak ? cases : cases.filter((_, nth) => nth % 2 === 1)
  for (const [name, archive, source, message] of tried)
    await t.test(name, async t => {
      const { code, output } = await load(archive, source)
      t.equal(code, 1)
      t.match(output, new RegExp(`^slotline: .*${message}$`, 'm'))
      t.notMatch(output, SECRET)
      const left = readdirSync(stores, { withFileTypes: true })
      const isOther = (one: (typeof left)[number]): boolean =>
        one.isDirectory() || /request|cancel|CURRENT/.test(one.name)
      t.strictSame(left.filter(isOther), [], 'no store or request remains')
    })

  await soakSubtest(t, 'attempts at a server that sends nothing', async t => {
    files.setPaused(true)
    const impatient = { silenceMs: 300, attemptsMax: 2, backoffInitialMs: 10 }
    const { code, output } = await load(impatient, url)
    files.setPaused(false)
    t.equal(code, 1)
    t.match(
      output,
      /^slotline: .*127\.0\.0\.1:\d+: it is silent for 300 ms \(2 tries, 0 bytes came\)$/m,
    )
    t.notMatch(output, SECRET)
  })

  const dry = await load({ membersMax: 2 }, file, '--dry-run')
  t.equal(dry.code, 1)
  t.match(dry.output, 'raise bootstrap.archive.membersMax')
  const loaded = await load({}, url)
  t.equal(loaded.code, 0, loaded.output)
  t.strictSame(examineStore(prepared, 'one').differences, [])
})

t.test('invalid limits are refused when the configuration is read', async t => {
  const { configFile } = await prepareServe(t, { one: { endpoint: 'http://127.0.0.1:1' } })
  const plain = parse(readFileSync(configFile, 'utf8'))
  const cases: [archive: object, message: string][] = [
    [{ membersMax: 0 }, 'bootstrap.archive.membersMax must be an integer from 1'],
    [{ aheadBytesMax: 1 }, 'bootstrap.archive.aheadBytesMax is unknown'],
    [{ memberMax: 1 }, 'bootstrap.archive.memberMax is unknown; did you mean membersMax\\?'],
  ]
  for (const [archive, message] of cases) {
    const text = stringify({ ...plain, bootstrap: { archive } })
    t.throws(() => parseConfig(text, configFile), { message: new RegExp(`${message}`) })
  }
})
