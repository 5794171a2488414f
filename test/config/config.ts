import { inspect } from 'node:util'
import fc from 'fast-check'
import { parse } from 'smol-toml'
import t from 'tap'
import {
  ConfigError,
  EXAMPLE,
  parseConfig,
  toConfig,
  type Config,
} from '../../src/config/config.js'
import { formatConfig } from '../../src/config/printable.js'
import { FILE, MINIMAL } from '../fixtures/config.js'

t.test('an omitted option has its default', t => {
  const config = parseConfig(FILE, 'slotline.toml')
  t.equal(config.processes.drainMs, 5_000)
  t.equal(config.processes.tipPollMs, 200)
  t.equal(config.log.level, 'warn')
  t.equal(config.access.keyFile, '/var/lib/slotline/access.key')
  t.equal(config.networks[0]?.feed.xToken, 'canary-of-the-feed')
  t.strictSame(config.networks[1]?.changedPrograms, [])
  t.strictSame(config.networks[1]?.scope?.mints, [])
  t.equal(config.networks[0]?.scope, undefined)
  t.equal(config.networks[0]?.lander, undefined)
  t.equal(config.networks[1]?.lander?.tipFloorLamports, 1_000_000)
  t.equal(config.networks[1]?.lander?.upstream.credentialName, 'x-api-key')
  t.end()
})

t.test('an error names the line and a valid value', t => {
  const cases: [from: string, to: string, message: string][] = [
    ['drainMs =', 'drainMx =', '23: processes.drainMx is unknown; did you mean drainMs?'],
    ['drainMs =', 'whatever =', '23: processes.whatever is unknown'],
    ['[processes]', '[proceses]', '22: proceses is unknown; did you mean processes?'],
    [
      'endpoint = "https',
      'endpont = "https',
      '7: networks[0].feed.endpont is unknown; did you mean endpoint?',
    ],
    ['[processes]', '[processes.drain]', '22: processes.drain is unknown'],
    [
      '5000',
      '"5 s"',
      '23: processes.drainMs must be an integer from 1 to 2147483647 (milliseconds), but is "5 s"',
    ],
    [
      '5000',
      '1.5',
      '23: processes.drainMs must be an integer from 1 to 2147483647 (milliseconds), but is 1.5',
    ],
    [
      '5000',
      'true',
      '23: processes.drainMs must be an integer from 1 to 2147483647 (milliseconds), but is true',
    ],
    [
      'level = "warn"',
      'level = "loud"',
      '26: log.level must be one of trace, debug, info, warn, error, fatal, silent, but is "loud"',
    ],
    ['id = "dev"', 'id = "main"', '11: networks[1].id is main a second time'],
    [
      'id = "dev"',
      'id = "dev"\ntransactionRoute = "race"',
      '12: networks[1].transactionRoute: race needs lanes',
    ],
    [
      'id = "dev"',
      'id = "dev"\nlanes = [{ id = "lander", kind = "jsonrpc", url = "http://a" }]',
      '12: networks[1].lanes[0].id: lander is the upstream of other routes',
    ],
    [
      'id = "dev"',
      'id = "../dev"',
      '11: networks[1].id must be up to 32 of a–z, 0–9 and -, not beginning with -, but is "../dev"',
    ],
    ['id = "fra"\n', '', '17: locations[0].id is missing'],
    [
      'TokenkegQ',
      'Token0egQ',
      '15: networks[1].scope.programs[0] must be a base58 public key, but is "Token0egQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"',
    ],
    [
      'https://feed',
      'ftp://feed',
      '7: networks[0].feed.endpoint must be an http or https URL, but is "ftp://feed.example:10000"',
    ],
    [
      '"canary-of-the-feed"',
      '77',
      '8: networks[0].feed.xToken must be a text, but is "[redacted]"',
    ],
    [
      '"192.0.2.7"',
      '"proxy.example"',
      '2: trustedProxies[0] must be an IP address, or address/bits of at least 8 bits (7 for IPv6), but is "proxy.example"',
    ],
    [
      'tr7c9YdFm5pTx8xVp8XMRPrAFGSND7xmumTqPPJchHe',
      'moon17L6BgxXRX5uHKudAmqVF96xia9h8ygcmG2sL3F',
      '30: networks[1].lander: moon17L6BgxXRX5uHKudAmqVF96xia9h8ygcmG2sL3F is a tip address of both kinds',
    ],
    [
      'moon17L6',
      'moon17L',
      '29: networks[1].lander.tipAddresses[0] must be a base58 public key, but is "moon17LBgxXRX5uHKudAmqVF96xia9h8ygcmG2sL3F"',
    ],
    [
      '["moon17L6BgxXRX5uHKudAmqVF96xia9h8ygcmG2sL3F"]',
      '[]',
      '29: networks[1].lander.tipAddresses must be at least one address, but is a list',
    ],
    [
      'nyc.lander.example',
      'nyc.lander.example/?key=canary',
      '32: networks[1].lander.upstream.urls[1] must be an http or https URL without user, query and fragment, but is "http://nyc.lander.example/[redacted]"',
    ],
    [
      'nyc.lander',
      'canary:canary@nyc.lander',
      '32: networks[1].lander.upstream.urls[1] must be an http or https URL without user, query and fragment, but is "http://nyc.lander.example/[redacted]"',
    ],
    [
      '"canary-of-the-lander"',
      '"two\\nlines"',
      '33: networks[1].lander.upstream.credential must be a text of visible ASCII characters, but is "[redacted]"',
    ],
    [
      'urls = ["http://fra',
      'url = ["http://fra',
      '32: networks[1].lander.upstream.url is unknown; did you mean urls?',
    ],
    ['["192.0.2.7"]', '"192.0.2.7"', '2: trustedProxies must be a list, but is "192.0.2.7"'],
    ['8899', '9464', '20: 0.0.0.0:9464 is used by metrics and by location fra'],
    [
      '[{ host = "0.0.0.0", port = 8899 }]',
      '[]',
      '20: locations[0].listeners must be at least one listener, but is a list',
    ],
    ['[log]', '[[log]]', '25: log[0] is unknown'],
    ['[log]', '[log', '25: illegal character in key'],
    ['dataDir =', 'dataDir', '1: illegal character in key'],
  ]
  for (const [from, to, expected] of cases) {
    const text = FILE.replace(from, to).concat(
      to.includes('9464') ? '[metrics]\nhost = "0.0.0.0"\n' : '',
    )
    t.not(text, FILE, from)
    let message = ''
    try {
      parseConfig(text, 'slotline.toml')
    } catch (error) {
      if (error instanceof ConfigError) message = error.message
      else throw error
    }
    t.ok(message.startsWith(`slotline.toml:${expected}`), message)
    t.notMatch(message, /\n|canary/)
  }
  t.throws(() => toConfig({}), {
    name: 'ConfigError',
    message: 'networks is missing (and 1 more: slotline config check)',
    faults: ['networks is missing', 'locations is missing'],
  })
  t.throws(() => toConfig({ ...MINIMAL, networks: [] }), { message: /at least one network/ })
  t.throws(() => toConfig(undefined), { message: /^the file must be a table/ })
  t.end()
})

/** Every number among the options, with its path. */
const numbersOf = (value: unknown, path: readonly string[] = []): [string[], number][] =>
  typeof value === 'number'
    ? [[[...path], value]]
    : typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.entries(value).flatMap(([key, inner]) => numbersOf(inner, [...path, key]))
      : []

const withValue = (path: readonly string[], value: unknown): unknown =>
  path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value)

t.test('every number has a lower and an upper bound', t => {
  const numbers = numbersOf(parse(formatConfig(EXAMPLE)))
  t.ok(numbers.length > 25, `${numbers.length} numbers`)
  for (const [path, value] of numbers) {
    const set = (number: unknown): Config =>
      toConfig({ ...MINIMAL, ...Object(withValue(path, number)) })
    const name = path.join('.')
    t.doesNotThrow(() => set(value), `${name} = ${value}`)
    for (const wrong of [-1, 2 ** 54, 0.5, Number.NaN, Infinity, '1', null, true, [1]])
      t.throws(() => set(wrong), { name: 'ConfigError' }, `${name} = ${inspect(wrong)}`)
    if (/Ms$/.test(name))
      t.throws(() => set(2 ** 31), { message: /2147483647/ }, `${name}: a timer`)
    let message = ''
    try {
      set(-1)
    } catch (error) {
      message = String(error)
    }
    const [, min = '', max = ''] = /from (\d+) to (\d+)/.exec(message) ?? []
    t.doesNotThrow(() => set(Number(min)), `${name} = ${min}, its least`)
    t.doesNotThrow(() => set(Number(max)), `${name} = ${max}, its greatest`)
    t.throws(() => set(Number(min) - 1), `${name} below ${min}`)
    t.throws(() => set(Number(max) + 1), `${name} above ${max}`)
  }
  t.end()
})

t.test('a constant is no option, and is set by a test only', t => {
  const network = (upstream: object) => ({
    ...MINIMAL,
    networks: [
      {
        ...MINIMAL.networks[0],
        lander: { upstream, tipAddresses: ['11111111111111111111111111111111'] },
      },
    ],
  })
  const urls = ['http://127.0.0.1:1']
  const cases: [given: object, name: string][] = [
    [{ ...MINIMAL, server: { chunkBytes: 7 } }, 'server.chunkBytes'],
    [{ ...MINIMAL, dashboard: { events: { checkMs: 7 } } }, 'dashboard.events.checkMs'],
    [network({ urls, idleMs: 7 }), 'networks[0].lander.upstream.idleMs'],
  ]
  for (const [given, name] of cases) {
    t.throws(() => toConfig(given), {
      message: new RegExp(`^${name.replaceAll(/[.[\]]/g, '\\$&')} is unknown`),
    })
    const before = JSON.stringify(given)
    const config = toConfig(given, { takesConstants: true })
    t.equal(JSON.stringify(given), before, 'the given values are not changed')
    t.equal(
      name.split(/[.[\]]+/).reduce<unknown>((at, key) => Object(at)[key], config),
      7,
      name,
    )
    t.notMatch(formatConfig(config), name.split('.').at(-1), 'it is not printed')
  }
  t.throws(() => toConfig({ ...MINIMAL, server: { chunkByte: 7 } }, { takesConstants: true }), {
    message: /^server\.chunkByte is unknown/,
  })
  t.end()
})

t.test('unknown keys are refused', t => {
  const tables = ['', 'store', 'pools', 'access', 'access.store', 'processes', 'metrics', 'log']
  fc.assert(
    fc.property(
      fc.constantFrom(...tables),
      fc.stringMatching(/^[a-z][A-Za-z]{0,12}$/),
      (table, key) => {
        const path = [...table.split('.').filter(word => word !== ''), key]
        const isKnown = path.reduce<unknown>((at, word) => Object(at)[word], EXAMPLE) !== undefined
        fc.pre(!isKnown)
        try {
          toConfig({ ...MINIMAL, ...Object(withValue(path, 1)) })
          return false
        } catch (error) {
          return (
            error instanceof ConfigError && error.message.startsWith(`${path.join('.')} is unknown`)
          )
        }
      },
    ),
  )
  t.end()
})

/** A complete relay section with the given changes. */
const relayWith = (given: object = {}) => ({
  upstream: { urls: ['https://engine.example'], credential: 'canary-of-the-engine' },
  serviceTipAddresses: ['tr7c9YdFm5pTx8xVp8XMRPrAFGSND7xmumTqPPJchHe'],
  engineTipAddresses: ['96gYZGLnJYVFmbjzopPSU6QiEV5fGqZNyN9nmNhvrZU5'],
  ...given,
})
const withRelays = (relay?: object, relayBundle?: object) =>
  toConfig({ ...MINIMAL, networks: [{ ...MINIMAL.networks[0], relay, relayBundle }] })

t.test('each relay route has a separate engine, with its own defaults', t => {
  const [network] = withRelays(relayWith(), relayWith()).networks
  t.match(network?.relay, {
    path: '/iris',
    serviceTipFloorLamports: 1_000_000,
    engineTipFloorLamports: 1_000,
    upstream: { credentialName: 'x-api-key', pingPath: '', answerMs: 5_000 },
  })
  t.match(network?.relayBundle, {
    path: '/api/v1/bundles',
    requestsPerSecondMax: 1,
    upstream: { credentialName: 'x-jito-auth', pingPath: '' },
  })
  t.equal(network?.relayBundle?.exemptPrograms.length, 9)
  t.notMatch(formatConfig(withRelays(relayWith())), 'canary')
  t.equal(toConfig(MINIMAL).networks[0]?.relay, undefined)
  t.end()
})

t.test('an invalid relay section is refused', t => {
  const own = relayWith().serviceTipAddresses
  const cases: [given: object, message: string][] = [
    [{ engineTipAddresses: own }, `: ${own[0]} is a tip address of both kinds`],
    [{ engineTipAddresses: [] }, '.engineTipAddresses must be at least one address, but is a list'],
    [
      { serviceTipFloorLamports: -1 },
      '.serviceTipFloorLamports must be an integer from 0 to 9007199254740991 (lamports), but is -1',
    ],
    [
      { requestsPerSecondMax: 0 },
      '.requestsPerSecondMax must be an integer from 1 to 1000000 (requests), but is 0',
    ],
    [{ path: 'bundles' }, '.path must be a path that begins with /, but is "bundles"'],
    [{ upstream: { urls: [] } }, '.upstream.urls must be at least one URL, but is a list'],
    [{ queueM: 5 }, '.queueM is unknown; did you mean queueMs?'],
  ]
  for (const [given, message] of cases) {
    t.throws(() => withRelays(relayWith(given)), { message: `networks[0].relay${message}` })
    t.throws(() => withRelays(undefined, relayWith(given)), {
      message: `networks[0].relayBundle${message}`,
    })
  }
  t.end()
})

t.test('a configuration is immutable and can be sent to another process', t => {
  const config = parseConfig(FILE, 'f')
  const check = (value: unknown): boolean =>
    typeof value !== 'object' ||
    value === null ||
    (Object.isFrozen(value) && Object.values(value).every(check))
  t.ok(check(config))
  t.strictSame(structuredClone(config), config)
  t.end()
})
