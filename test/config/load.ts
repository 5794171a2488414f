import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { ConfigError } from '../../src/config/config.js'
import { loadConfig, loadServiceConfig, type LoadedConfig } from '../../src/config/load.js'
import { writeServiceFile } from '../../src/config/service-file.js'
import { ownDir } from '../fixtures/own-dir.js'

const TEXT = `dataDir = "data"
[[networks]]
id = "main"
snapshots = ["archives/a.tar.zst", "https://s.example"]
  [networks.feed]
  endpoint = "$FEED"
  xTokenFile = "secrets/token"
  caFile = "ca.pem"
  [networks.rpc.upstream]
  urls = ["$RPC_URL", "https://b.example"]
  credential = "$RPC_KEY"
[[locations]]
id = "fra"
name = "Frankfurt"
listeners = [{ host = "127.0.0.1", port = 8899 }]
[dashboard.identity]
issuer = "https://id.example"
clientId = "us"
clientSecretFile = "/run/credentials/slotline.service/secret"
`
const ENVIRONMENT = {
  FEED: 'https://feed.example/canary',
  RPC_URL: 'https://a.example/canary',
  RPC_KEY: 'canary-rpc',
}

const write = (t: Test, text = TEXT) => {
  const dir = ownDir(t)
  const file = join(dir, 'slotline.toml')
  mkdirSync(join(dir, 'secrets'))
  writeFileSync(join(dir, 'secrets/token'), 'canary-feed\n')
  writeFileSync(join(dir, 'secrets/client'), 'canary-client\r\n\n')
  writeFileSync(file, text.replace('/run/credentials/slotline.service/secret', 'secrets/client'))
  return { dir, file }
}

const faultsOf = (load: () => LoadedConfig): readonly string[] => {
  try {
    load()
  } catch (error) {
    if (error instanceof ConfigError) return error.faults
    throw error
  }
  return []
}

t.test('secrets come from the environment and from files', async t => {
  const { dir, file } = write(t)
  const loaded = loadConfig(file, ENVIRONMENT)
  const [network] = loaded.config.networks
  t.equal(network?.feed.endpoint, ENVIRONMENT.FEED)
  t.equal(network?.feed.xToken, 'canary-feed')
  t.strictSame(network?.rpc?.upstream.urls, [ENVIRONMENT.RPC_URL, 'https://b.example'])
  t.equal(network?.rpc?.upstream.credential, 'canary-rpc')
  t.equal(loaded.config.dashboard.identity?.clientSecret, 'canary-client')
  t.equal(loaded.holdsSecret, false, 'names of variables and files are no secrets')
  t.strictSame(loaded.secretVariables.toSorted(), ['FEED', 'RPC_KEY', 'RPC_URL'])
  t.strictSame(loaded.secretFiles, [join(dir, 'secrets/token'), join(dir, 'secrets/client')])
  const own = { ...ENVIRONMENT, CREDENTIALS_DIRECTORY: join(dir, 'secrets') }
  t.strictSame(loadConfig(file, own).secretFiles, [], 'those of systemd are protected by it')
})

t.test('paths are relative to the folder of the file', async t => {
  const { dir, file } = write(t)
  const { config } = loadConfig(file, ENVIRONMENT)
  t.equal(config.dataDir, join(dir, 'data'))
  t.equal(config.access.keyFile, join(dir, 'data/access.key'))
  t.equal(config.access.adminTokenFile, join(dir, 'data/admin.token'))
  t.equal(config.networks[0]?.feed.caFile, join(dir, 'ca.pem'))
  const archives = [join(dir, 'archives/a.tar.zst'), 'https://s.example']
  t.strictSame(config.networks[0]?.snapshots, archives)
  const other = write(t, `${TEXT}[access]\nkeyFile = "keys/a"\nadminTokenFile = "/etc/admin"\n`)
  const { access } = loadConfig(other.file, ENVIRONMENT).config
  t.equal(access.keyFile, join(other.dir, 'keys/a'))
  t.equal(access.adminTokenFile, '/etc/admin')
})

t.test('a missing secret is named with its line, and never printed', async t => {
  const { file } = write(t, TEXT.replace('secrets/token', 'secrets/none'))
  const faults = faultsOf(() => loadConfig(file, { RPC_URL: '', FEED: 'ftp://canary' }))
  t.strictSame(
    faults.map(line => line.replace(`${file}:`, '').replace(dirname(file), '')),
    [
      '6: networks[0].feed.endpoint must be an http or https URL, but is "ftp://canary"',
      '7: networks[0].feed.xTokenFile cannot be read: /secrets/none does not exist',
      '10: networks[0].rpc.upstream.urls[0] is $RPC_URL, which the environment does not have',
      '11: networks[0].rpc.upstream.credential is $RPC_KEY, which the environment does not have',
    ],
  )
  const both = write(t, TEXT.replace('xTokenFile', 'xToken = "canary"\n  xTokenFile'))
  t.strictSame(
    faultsOf(() => loadConfig(both.file, ENVIRONMENT)).map(line => line.slice(both.file.length)),
    [':8: networks[0].feed.xTokenFile and xToken are both given'],
  )
  const empty = write(t)
  writeFileSync(join(empty.dir, 'secrets/token'), ' \n')
  t.match(
    faultsOf(() => loadConfig(empty.file, ENVIRONMENT)),
    [/xTokenFile cannot be read: it is empty$/],
  )
  writeFileSync(join(empty.dir, 'secrets/token'), 'a'.repeat(65_537))
  t.match(
    faultsOf(() => loadConfig(empty.file, ENVIRONMENT)),
    [/it has more than 65536 bytes$/],
  )
})

t.test('a command that needs no secrets works without them', async t => {
  const { file } = write(t, TEXT.replace('secrets/token', 'secrets/none'))
  const { config } = loadConfig(file, {}, { needsSecrets: false })
  t.equal(config.networks[0]?.id, 'main')
})

t.test('a data directory names the configuration of its service', async t => {
  const { dir, file } = write(t)
  const dataDir = join(dir, 'data')
  t.throws(() => loadServiceConfig(dataDir, {}), { message: /^no service has run on the data dir/ })
  mkdirSync(dataDir)
  writeServiceFile(dataDir, { configFile: file })
  t.equal(loadServiceConfig(dataDir, ENVIRONMENT).dataDir, dataDir)
  writeFileSync(file, TEXT.replace('"data"', '"other"'))
  t.throws(() => loadServiceConfig(dataDir, ENVIRONMENT, { needsSecrets: false }), {
    message: `the data directory of ${file} is now ${join(dir, 'other')}, not ${dataDir}`,
  })
  const { config } = loadConfig(file, ENVIRONMENT, { needsSecrets: false })
  writeServiceFile(dataDir, { config: { ...config, dataDir } })
  t.equal(loadServiceConfig(dataDir, {}).dataDir, dataDir)
})
