import t from 'tap'
import * as v from 'valibot'
import { toConfig } from '../../src/config/config.js'
import { configSchema } from '../../src/config/schema.js'

const BASE = {
  networks: [{ id: 'n', feed: { endpoint: 'http://x:1' } }],
  locations: [{ id: 'l', name: 'L', listeners: [{ host: '::', port: 1 }] }],
}
const KEY = 'So11111111111111111111111111111111111111112'

const isRight = (given: object): boolean => v.safeParse(configSchema, { ...BASE, ...given }).success

t.test('trusted proxies are addresses or ranges', t => {
  const cases: [given: unknown, right: boolean][] = [
    ['127.0.0.9', true],
    ['10.0.0.0/8', true],
    ['10.0.0.0/32', true],
    ['10.0.0.0/33', false],
    ['0.0.0.0/0', false],
    ['0.0.0.0/1', false],
    ['128.0.0.0/7', false],
    ['::/0', false],
    ['::/8', false],
    ['2000::/3', false],
    ['::ffff:0.0.0.0/96', false],
    ['0:0:0:0:0:ffff:0:0/96', false],
    ['::ffff:10.0.0.0/104', true],
    ['10.0.0.0/', false],
    ['10.0.0.0/8/8', false],
    ['10.0.0.0/-1', false],
    ['::1', true],
    ['fd00::/128', true],
    ['fd00::/129', false],
    ['proxy.example', false],
    ['', false],
    [1, false],
  ]
  for (const [given, right] of cases)
    t.equal(isRight({ trustedProxies: [given] }), right, JSON.stringify(given))
  t.end()
})

t.test('names used as folders have no special characters', t => {
  const cases: [id: unknown, right: boolean][] = [
    ['mainnet', true],
    ['a', true],
    ['0-a', true],
    ['a'.repeat(32), true],
    ['a'.repeat(33), false],
    ['', false],
    ['-a', false],
    ['A', false],
    ['a.b', false],
    ['a/b', false],
    ['a\0', false],
    ['a\n', false],
    [1, false],
  ]
  for (const [id, right] of cases) {
    const networks = [{ id, feed: { endpoint: 'http://x:1' } }]
    t.equal(isRight({ networks }), right, JSON.stringify(id))
  }
  t.end()
})

t.test('a scope consists of public keys', t => {
  const network = { id: 'n', feed: { endpoint: 'http://x:1' } }
  const cases: [more: object, right: boolean][] = [
    [{ changedPrograms: [] }, true],
    [{ changedPrograms: [KEY] }, true],
    [{ changedPrograms: [`${KEY}0`] }, false],
    [{ changedPrograms: KEY }, false],
    [{ scope: {} }, true],
    [{ scope: { programs: [KEY], mints: [KEY], pubkeys: [KEY] } }, true],
    [{ scope: { programs: ['l'.repeat(44)] } }, false],
    [{ scope: { owners: [KEY] } }, false],
  ]
  for (const [more, right] of cases)
    t.equal(isRight({ networks: [{ ...network, ...more }] }), right, JSON.stringify(more))
  t.end()
})

t.test('a product consists of existing networks and locations', t => {
  const product = { id: 'p', name: 'P' }
  const cases: [products: unknown, right: boolean][] = [
    [[], true],
    [[product], true],
    [[{ ...product, kind: 'node-access', networks: ['n'], locations: ['l'] }], true],
    [[{ ...product, limits: { requestsPerSecondMax: 1 } }], true],
    [[{ ...product, limits: { requestsPerSecondMax: 0 } }], false],
    [[{ ...product, limits: { requestsPerDayMax: 1 } }], false],
    [[{ ...product, kind: 'toaster' }], false],
    [[{ id: 'p' }], false],
    [product, false],
  ]
  for (const [products, right] of cases)
    t.equal(isRight({ products }), right, JSON.stringify(products))
  const unknown: [products: object[], message: RegExp][] = [
    [[{ ...product, networks: ['m'] }], /products\[0\]\.networks: m is none of networks/],
    [[{ ...product, locations: ['m'] }], /products\[0\]\.locations: m is none of locations/],
    [[product, product], /products\[1\]\.id is p a second time/],
  ]
  for (const [products, message] of unknown)
    t.throws(() => toConfig({ ...BASE, products }), { message })
  t.end()
})

t.test('a cluster has a lease of three beats and one of the locations', t => {
  const cluster = {
    id: 's1',
    machine: 'l-1',
    location: 'l',
    store: ['https://etcd:2379'],
    caFile: 'ca.pem',
    certFile: 'l-1.pem',
    keyFile: 'l-1.key',
  }
  t.match(toConfig({ ...BASE, cluster }).cluster, { leaseMs: 6_000, beatMs: 1_000 })
  const cases: [options: object, message: RegExp][] = [
    [{ leaseMs: 2_999 }, /cluster\.leaseMs must be at least three times cluster\.beatMs, so 3000/],
    [{ leaseMs: 6_000, beatMs: 2_001 }, /so 6003$/],
    [{ leaseMs: 15_001 }, /processes\.startMs must be at least twice cluster\.leaseMs, so 30002$/],
    [{ location: 'm' }, /cluster\.location: m is none of locations/],
    [{ store: [] }, /at least one member/],
    [{ store: ['http://etcd:2379'] }, /cluster\.store\[0\] must be https:\/\/host:port/],
    [{ store: ['https://etcd'] }, /must be https:\/\/host:port/],
    [{ machine: 'L 1' }, /cluster\.machine must be /],
    [{ peerUrl: 'http://l-1:9443' }, /cluster\.peerUrl must be https:\/\/host:port/],
    [{ peerUrl: 'https://l-1:9443/x' }, /cluster\.peerUrl must be https:\/\/host:port/],
    [
      { peerUrl: 'https://127.0.0.1:9465' },
      /127\.0\.0\.1:9465 is used by the dashboard and by other machines/,
    ],
    [{ peerUrl: 'https://l-1:9443', peerListen: '0.0.0.0' }, /peerListen must be host:port/],
    [
      { peerUrl: 'https://l-1:9443', peerListen: '0.0.0.0:9465' },
      /port 9465 is used by the dashboard and by other machines/,
    ],
  ]
  for (const [options, message] of cases)
    t.throws(() => toConfig({ ...BASE, cluster: { ...cluster, ...options } }), { message })
  t.end()
})

t.test('the public URL of a location is an origin', t => {
  const cases: [publicUrl: unknown, right: boolean][] = [
    ['https://fra.example.com', true],
    ['http://127.0.0.1:8899', true],
    ['https://fra.example.com/', false],
    ['https://fra.example.com/rpc', false],
    ['https://user@fra.example.com', false],
    ['https://fra.example.com?key=1', false],
    ['wss://fra.example.com', false],
    ['fra.example.com', false],
  ]
  for (const [publicUrl, right] of cases) {
    const locations = [{ ...BASE.locations[0], publicUrl }]
    t.equal(isRight({ locations }), right, String(publicUrl))
  }
  t.end()
})
