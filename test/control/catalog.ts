import t from 'tap'
import { toConfig } from '../../src/config/config.js'
import { toControlConfig } from '../../src/config/child-config.js'
import { createCatalog } from '../../src/control/catalog.js'
import { MINIMAL } from '../fixtures/config.js'

t.test('the addresses of a location are those of its first listener, or its public URL', t => {
  const tls = { certFile: 'a.pem', keyFile: 'a.key' }
  const plain = { host: 'fra.example', port: 8_899 }
  const cases: [name: string, location: object, rpc: string, ws: string][] = [
    ['plain', { listeners: [plain] }, 'http://fra.example:8899', 'ws://fra.example:8899'],
    [
      'with TLS',
      {
        listeners: [
          { ...plain, tls },
          { ...plain, port: 1 },
        ],
      },
      'https://fra.example:8899',
      'wss://fra.example:8899',
    ],
    [
      'behind a proxy',
      { listeners: [plain], publicUrl: 'https://fra.example' },
      'https://fra.example',
      'wss://fra.example',
    ],
  ]
  for (const [name, location, rpcOrigin, wsOrigin] of cases) {
    const locations = [{ id: 'fra', name: 'Frankfurt', ...location }]
    const config = toControlConfig(toConfig({ ...MINIMAL, locations }))
    t.match(createCatalog(config).location('fra'), { rpcOrigin, wsOrigin }, name)
  }
  t.end()
})
