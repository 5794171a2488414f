import t from 'tap'
import { toConfig } from '../../../src/config/config.js'
import { toControlConfig } from '../../../src/config/child-config.js'
import { createCatalog } from '../../../src/control/accesses/catalog.js'
import { MINIMAL } from '../../fixtures/config.js'

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

t.test('each submission route of a network has the tips that its checks demand', t => {
  const [a, b, c] = [
    '1'.repeat(32),
    'Stake11111111111111111111111111111111111111',
    'Vote111111111111111111111111111111111111111',
  ]
  const upstream = { urls: ['http://127.0.0.1:1'], credential: 'canary' }
  const relay = { upstream, serviceTipAddresses: [a], engineTipAddresses: [b] }
  const network = { ...MINIMAL.networks[0], id: 'one' }
  const networks = [
    {
      ...network,
      lander: { upstream, tipAddresses: [a, b], serviceTipAddresses: [c], tipFloorLamports: 5 },
      relayBundle: { ...relay, serviceTipFloorLamports: 7, engineTipFloorLamports: 9 },
    },
    { ...network, id: 'other' },
  ]
  const catalog = createCatalog(toControlConfig(toConfig({ ...MINIMAL, networks })))
  const lander = [{ payee: 'lander', lamportsMin: 5, accounts: [a, b, c] }]
  t.strictSame(catalog.submissionRoutes(network.id), [
    { path: '/lander', tips: lander },
    { path: '/lander-submit-bundle', tips: lander },
    { path: '/lander-submit-batch', tips: lander },
    { path: '/send', tips: lander },
    {
      path: '/relay-bundle',
      tips: [
        { payee: 'service', lamportsMin: 7, accounts: [a] },
        { payee: 'engine', lamportsMin: 9, accounts: [b] },
      ],
    },
  ])
  t.strictSame(catalog.submissionRoutes('other'), [])
  t.strictSame(catalog.submissionRoutes('gone'), [])
  t.end()
})
