import t from 'tap'
import * as v from 'valibot'
import { configSchema } from '../src/config-schema.js'

const BASE = {
  networks: [{ id: 'n', feed: { endpoint: 'http://x:1' } }],
  locations: [{ id: 'l', name: 'L', listeners: [{ host: '::', port: 1 }] }],
}
const KEY = 'So11111111111111111111111111111111111111112'

const isRight = (given: object): boolean => v.safeParse(configSchema, { ...BASE, ...given }).success

t.test('trusted proxies are addresses or ranges of them', t => {
  const cases: [given: unknown, right: boolean][] = [
    ['127.0.0.9', true],
    ['10.0.0.0/8', true],
    ['10.0.0.0/32', true],
    ['10.0.0.0/33', false],
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

t.test('names become folders: nothing in them is special', t => {
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

t.test('what is indexed is named by public keys', t => {
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
