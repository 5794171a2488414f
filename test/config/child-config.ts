import t from 'tap'
import {
  toChainProviderConfig,
  toControlConfig,
  toEdgeConfig,
  toGeyserConfig,
  toIndexerConfig,
  toSenderConfig,
} from '../../src/config/child-config.js'
import { toConfig } from '../../src/config/config.js'
import { MINIMAL } from '../fixtures/config.js'
import { withSecrets } from '../fixtures/secret-config.js'

t.test('each process receives the secrets that it owns, and no other', t => {
  const { sections, secrets } = withSecrets(['one', 'two'])
  t.ok(secrets.length >= 20, 'the schema has secrets')
  const config = toConfig({ ...MINIMAL, ...sections })
  const children = [
    { owner: 'edge', network: undefined, config: toEdgeConfig(config) },
    { owner: 'sender', network: undefined, config: toSenderConfig(config) },
    { owner: 'indexer', network: 'one', config: toIndexerConfig(config, 'one') },
    { owner: 'indexer', network: 'two', config: toIndexerConfig(config, 'two') },
    { owner: 'control', network: undefined, config: toControlConfig(config) },
    { owner: 'geyser', network: undefined, config: toGeyserConfig(config) },
    { owner: 'none', network: undefined, config: toChainProviderConfig(config) },
  ]
  for (const { owner, network, config } of children) {
    const text = JSON.stringify(config)
    for (const secret of secrets) {
      const isOwn = secret.owners.some(other => other === owner)
      const isForIt = isOwn && (network === undefined || network === secret.network)
      const name = `${owner} ${network ?? ''}: ${secret.network} ${secret.keys.join('.')}`
      t.equal(text.includes(secret.text), isForIt, name)
    }
  }
  t.end()
})

t.test('only control learns where the keys and the admin token are', t => {
  const config = toConfig({ ...MINIMAL, dataDir: '/d' })
  const files = /access\.key|admin\.token/
  t.match(JSON.stringify(toControlConfig(config)), files)
  t.notMatch(JSON.stringify(toEdgeConfig(config)), files)
  t.notMatch(JSON.stringify(toIndexerConfig(config, 'n')), files)
  t.end()
})
