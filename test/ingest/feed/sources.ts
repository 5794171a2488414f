import { join } from 'node:path'
import t from 'tap'
import { toConfig } from '../../../src/config/config.js'
import { toFeedSources } from '../../../src/ingest/feed/sources.js'

const feedOf = (feed: object) => {
  const given = {
    networks: [{ id: 'dev', feed, scope: { programs: [] } }],
    locations: [{ id: 'a', name: 'A', listeners: [{ host: '127.0.0.1', port: 1 }] }],
  }
  const [network] = toConfig(given).networks
  if (network === undefined) throw new Error('no network')
  return network.feed
}

t.test('each server gets its own secrets only', async t => {
  const pem = '-----BEGIN CERTIFICATE-----\n…'
  const dir = t.testdir({ 'ca.pem': pem, 'other.pem': 'no certificate' })
  const caFile = join(dir, 'ca.pem')
  const first = { endpoint: 'https://one.example', xToken: 'canary', caFile, startSlot: 9 }
  const second = { endpoint: 'https://two.example' }
  const third = { endpoint: 'https://three.example', xToken: 'other', plan: 'narrow' }
  const { sources, bounds } = toFeedSources(
    feedOf({ ...first, blockSilenceMs: 7_000, fallbacks: [second, third] }),
    undefined,
  )
  t.strictSame(sources, [
    {
      endpoint: 'https://one.example',
      xToken: 'canary',
      caCertificatePem: pem,
      plan: 'auto',
      startSlot: 9,
    },
    { endpoint: 'https://two.example', startSlot: 9 },
    { endpoint: 'https://three.example', xToken: 'other', plan: 'narrow', startSlot: 9 },
  ])
  t.match(bounds, { blockSilenceMs: 7_000, plan: 'auto' })
  t.notMatch(JSON.stringify(bounds), /canary|example/)

  const refused: [file: string, message: RegExp][] = [
    ['none.pem', /^networks\.feed\.fallbacks\.caFile cannot be read: \S*none\.pem does not exist$/],
    [
      'other.pem',
      /^networks\.feed\.fallbacks\.caFile: .*other\.pem contains no certificate in PEM$/,
    ],
  ]
  for (const [file, message] of refused) {
    const fallback = { endpoint: 'https://two.example', caFile: join(dir, file) }
    t.throws(() => toFeedSources(feedOf({ ...first, fallbacks: [fallback] }), undefined), {
      message,
    })
  }
})

t.test('a dev chain has one server', async t => {
  const feed = feedOf({ endpoint: 'http://one.example', xToken: 'canary', fallbacks: [] })
  const chain = { id: 'x', endpoint: 'http://127.0.0.1:5', firstSlot: 3 }
  const { sources } = toFeedSources(feed, chain)
  t.strictSame(sources, [{ endpoint: 'http://127.0.0.1:5', startSlot: 3 }])
})

t.test('a repair step without the options it needs is refused', async t => {
  const token = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
  const open = (network: object) => () =>
    toConfig({
      networks: [{ id: 'dev', feed: { endpoint: 'http://a' }, ...network }],
      locations: [{ id: 'a', name: 'A', listeners: [{ host: '127.0.0.1', port: 1 }] }],
    })
  const scope = { programs: [token] }
  t.throws(open({ repairSteps: ['snapshot'] }), /repairSteps: snapshot needs snapshots/)
  t.throws(open({ repairSteps: ['incremental'] }), /repairSteps: incremental needs snapshots/)
  t.throws(
    open({ repairSteps: ['incremental', 'snapshot'], snapshots: ['/snapshots/a'] }),
    /repairSteps: incremental and snapshot need two snapshots/,
  )
  t.doesNotThrow(open({ repairSteps: ['incremental'], snapshots: ['/snapshots/a'] }))
  t.throws(open({ repairSteps: ['rpc'], scope }), /repairSteps: rpc needs accountsRpc and scope/)
  t.throws(open({ repairSteps: ['magic'] }), /repairSteps\[0\] must be/)
  t.doesNotThrow(open({ repairSteps: ['snapshot'], snapshots: ['/snapshots/a'] }))
})

t.test('a plan that would miss accounts is refused', async t => {
  const open = (feed: object, scope?: object) => () =>
    toConfig({
      networks: [{ id: 'dev', feed: { endpoint: 'http://a', ...feed }, scope }],
      locations: [{ id: 'a', name: 'A', listeners: [{ host: '127.0.0.1', port: 1 }] }],
    })
  const system = '11111111111111111111111111111111'
  const token = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
  t.throws(open({ plan: 'scoped' }), /networks\[0\]\.feed\.plan: scoped needs a scope/)
  t.throws(
    open({ fallbacks: [{ endpoint: 'http://b', plan: 'narrow' }] }),
    /networks\[0\]\.feed\.fallbacks\[0\]\.plan: narrow needs a scope/,
  )
  t.throws(open({ plan: 'narrow' }, { programs: [system] }), /cannot follow the System Program/)
  t.doesNotThrow(open({ plan: 'narrow' }, { programs: [token] }))
  t.doesNotThrow(open({ plan: 'blocks' }))
})
