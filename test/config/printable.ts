import t from 'tap'
import { EXAMPLE, parseConfig, toConfig } from '../../src/config/config.js'
import { formatConfig, holdsSecret } from '../../src/config/printable.js'
import { FILE, MINIMAL } from '../fixtures/config.js'

t.test('a dumped configuration parses to the same', t => {
  const config = parseConfig(FILE, 'f')
  const dumped = formatConfig(config)
  t.notMatch(dumped, 'canary')
  const again = parseConfig(dumped, 'dump')
  const [first, second] = config.networks
  t.strictSame(again, {
    ...config,
    networks: [
      { ...first, feed: { ...first?.feed, xToken: '[redacted]' } },
      {
        ...second,
        lander: {
          ...second?.lander,
          upstream: { ...second?.lander?.upstream, credential: '[redacted]' },
        },
      },
    ],
  })
  t.strictSame(parseConfig(formatConfig(EXAMPLE), 'example'), EXAMPLE)
  t.end()
})

t.test('the secret at the identity provider is not printed', t => {
  const identity = { issuer: 'https://id.example', clientId: 'us', clientSecret: 'canary' }
  const config = toConfig({ ...MINIMAL, dashboard: { identity } })
  t.equal(config.dashboard.identity?.clientSecret, 'canary')
  t.notMatch(formatConfig(config), 'canary')
  const wrong = { ...MINIMAL, dashboard: { identity: { ...identity, clientSecret: ['canary'] } } }
  t.throws(() => toConfig(wrong), { message: /clientSecret must be a text, but is \S+$/ })
  t.throws(() => toConfig(wrong), { message: /^((?!canary).)*$/ })
  const port = { ...MINIMAL, dashboard: { port: 9_464 } }
  t.throws(() => toConfig(port), {
    message: /127.0.0.1:9464 is used by metrics and by the dashboard/,
  })
  t.end()
})

t.test('a secret of a feed is not printed from any part of its options', t => {
  const cases: [endpoint: string, shown: string][] = [
    ['https://feed.example', 'https://feed.example'],
    ['https://feed.example:443/', 'https://feed.example:443/'],
    ['https://feed.example/canary', 'https://feed.example/[redacted]'],
    ['https://feed.example:443/?key=canary', 'https://feed.example:443/[redacted]'],
    ['https://feed.example?key=canary', 'https://feed.example/[redacted]'],
    ['https://user:canary@feed.example', 'https://feed.example/[redacted]'],
    ['http://a@canary:9@feed.example/x', 'http://feed.example/[redacted]'],
  ]
  for (const [endpoint, shown] of cases) {
    const dumped = formatConfig(
      toConfig({ ...MINIMAL, networks: [{ id: 'n', feed: { endpoint } }] }),
    )
    t.match(dumped, `endpoint = "${shown}"`)
    t.notMatch(dumped, 'canary')
  }
  t.end()
})

t.test('a key of an upstream is not printed from any part of its options', t => {
  const tips = ['11111111111111111111111111111111']
  const paths = {
    transactionPath: '/send?key=canary',
    bundlePath: '/sendBundle?canary',
    batchPath: '/sendBatch?a=1&key=canary?b',
  }
  const upstream = {
    urls: ['https://a.example/canary/', 'https://b.example/v1/canary'],
    credential: 'canary',
    pingPath: '/ping?key=canary',
  }
  const config = toConfig({
    ...MINIMAL,
    networks: [
      {
        id: 'n',
        feed: { endpoint: 'https://feed.example' },
        lander: { upstream, tipAddresses: tips, ...paths },
        relay: {
          upstream,
          serviceTipAddresses: tips,
          engineTipAddresses: ['SysvarC1ock11111111111111111111111111111111'],
          path: '/v1?key=canary',
        },
        rpc: { upstream },
      },
    ],
  })
  const dumped = formatConfig(config)
  t.notMatch(dumped, 'canary')
  t.match(dumped, 'urls = [ "https://a.example/[redacted]", "https://b.example/[redacted]" ]')
  for (const name of Object.keys(paths))
    t.match(dumped, new RegExp(`${name} = "/\\w+\\?\\[redacted\\]"`))
  t.match(dumped, 'pingPath = "/ping?[redacted]"')
  t.match(dumped, '\npath = "/v1?[redacted]"')
  t.end()
})

t.test('a configuration holds a secret where a part of it is never printed', t => {
  const feed = { endpoint: 'https://feed.example' }
  const network = { id: 'n', feed }
  const lander = { upstream: { urls: ['https://a.example'] }, tipAddresses: ['1'.repeat(32)] }
  const upstream = { ...lander.upstream, credential: 'canary' }
  const cases: [given: object, expected: boolean][] = [
    [network, false],
    [{ ...network, lander }, false],
    [{ ...network, snapshots: ['/srv/snapshot.tar.zst'] }, false],
    [{ ...network, feed: { ...feed, xToken: 'canary' } }, true],
    [{ ...network, feed: { endpoint: 'https://feed.example/canary' } }, true],
    [{ ...network, feed: { ...feed, fallbacks: [{ ...feed, xToken: 'canary' }] } }, true],
    [{ ...network, snapshots: ['https://a.example/canary'] }, true],
    [{ ...network, lander: { ...lander, upstream } }, true],
    [{ ...network, lander: { ...lander, bundlePath: '/b?key=canary' } }, true],
  ]
  for (const [given, expected] of cases)
    t.equal(
      holdsSecret(toConfig({ ...MINIMAL, networks: [given] })),
      expected,
      JSON.stringify(given),
    )
  const identity = { issuer: 'https://id.example', clientId: 'us', clientSecret: 'canary' }
  t.equal(holdsSecret(toConfig({ ...MINIMAL, dashboard: { identity } })), true)
  t.end()
})
