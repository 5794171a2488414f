// What control reads of the other machines of a cluster, over their certificates.
import { join } from 'node:path'
import t, { type Test } from 'tap'
import * as v from 'valibot'
import { openClusterPeers, type ClusterPeers } from '../../../src/control/cluster/cluster-peers.js'
import { defaults } from '../../../src/cluster/options.js'
import type { KnownMachine } from '../../../src/cluster/machine-directory.js'
import type { PeerRoute } from '../../../src/cluster/peers/peer-server.js'
import { createAuditSum } from '../../../src/control/audit-sum.js'
import { createPeerRoutes } from '../../../src/control/peer-routes.js'
import type { AuditSearch } from '../../../src/dashboard/api/read-audit.js'
import { createLog } from '../../../src/shared/log.js'
import { createMetrics } from '../../../src/shared/metrics.js'
import { makeCertificates } from '../../fixtures/cluster/etcd.js'
import { freePorts } from '../../fixtures/free-ports.js'
import { PENDING } from '../../fixtures/submission/submission.js'

const dir = t.testdir()
makeCertificates(dir)
const SIGNATURE = '5'.repeat(44) + 'x'.repeat(44)
const QUERY = { accessId: 'acc_1', network: 'main', key: SIGNATURE }
const PATH = '/accesses/:accessId/networks/:network/submissions/:head/:tail'
const FOUND = { submissionId: '0190b0a0-0000-7000-8000-000000000000', submission: PENDING }
/** On a busy machine a handshake can take longer than the default. */
const PEER_MS = 10_000

type Machine = { readonly id: string; readonly port: number }

const open = async (
  t: Test,
  { id, port }: Machine,
  others: readonly Machine[],
  {
    routes = [],
    known = true,
    peerMs = PEER_MS,
  }: { routes?: readonly PeerRoute[]; known?: boolean; peerMs?: number } = {},
): Promise<ClusterPeers & { readonly waits: readonly number[] }> => {
  const waits: number[] = []
  const list = (): readonly KnownMachine[] =>
    others.map(other => ({
      id: other.id,
      location: other.id.slice(0, 3),
      beat: { instance: 'i', applied: 1, peerUrl: `https://127.0.0.1:${other.port}` },
      beatSeenMs: 1,
      isUnreachable: false,
    }))
  const peers = await openClusterPeers(
    {
      ...defaults,
      peerMs,
      id: 's1',
      machine: id,
      location: id.slice(0, 3),
      store: ['https://127.0.0.1:1'],
      caFile: join(dir, 'ca.pem'),
      certFile: join(dir, `${id}.pem`),
      keyFile: join(dir, `${id}.key`),
      peerUrl: `https://127.0.0.1:${port}`,
    },
    {
      directory: {
        isCurrent: known,
        find: name => list().find(machine => machine.id === name),
        list,
        untilKnown: timeoutMs => Promise.resolve(void waits.push(timeoutMs)),
      },
      routes,
      streams: [],
      listeners: {},
      log: createLog('peers', () => {}),
      metrics: createMetrics('control'),
    },
  )
  t.teardown(() => peers.close())
  return { ...peers, waits }
}

t.test('a submission is found at the machine of this location that has it', async t => {
  const first = await freePorts()
  const [own, other] = [
    { id: 'fra-1', port: first },
    { id: 'fra-2', port: first + 1 },
  ]
  const asked: unknown[] = []
  const answer = (names: unknown): unknown => {
    asked.push(names)
    return FOUND
  }
  const far = await open(t, other, [own], { routes: [{ path: PATH, answer }] })
  const { find, waits } = await open(t, own, [other])
  t.strictSame(waits, [defaults.callMs], 'the list of machines is awaited for a bounded time')
  t.strictSame(await find(QUERY), FOUND)
  t.strictSame(
    asked.map(names => ({ ...Object(names) })),
    [{ accessId: 'acc_1', network: 'main', head: '5'.repeat(44), tail: 'x'.repeat(44) }],
  )
  t.equal(await far.find(QUERY), undefined, 'a machine without that route has none')
})

t.test('a machine whose list of machines is old answers no other', async t => {
  const first = await freePorts()
  const [own, other] = [
    { id: 'fra-1', port: first },
    { id: 'fra-2', port: first + 1 },
  ]
  const routes = [{ path: PATH, answer: () => FOUND }]
  await open(t, other, [own], { routes, known: false })
  const { find } = await open(t, own, [other])
  t.equal(await find(QUERY), undefined)
})

const entry = (atMs: number, more: object = {}) =>
  ({ atMs, action: 'sign-in', by: 'ada', from: '127.0.0.1', ...more }) as const
const OWN = { entries: [entry(5)], next: null }
const SHOWN = { entries: [{ ...entry(5), machine: 'fra-1' }], next: null }

t.test('a peer is asked for audit entries with any filter, and named by certificate', async t => {
  const first = await freePorts()
  const own = { id: 'fra-1', port: first }
  const other = { id: 'fra-2', port: first + 1 }
  const asked: AuditSearch[] = []
  const routes = createPeerRoutes({
    search: () => Promise.reject(new Error('not asked')),
    find: async () => undefined,
    audit: async search => {
      asked.push(search)
      return { entries: [entry(6, { machine: 'fra-9', more: 1 })], next: null }
    },
  })
  await open(t, other, [own], { routes })
  const { client: peers } = await open(t, own, [other])
  const audit = createAuditSum({
    own: async () => OWN,
    machine: 'fra-1',
    locations: ['fra'],
    peers,
  })
  const subject = '\u{1F600}'.repeat(127) + '€'
  for (const search of [
    { limit: 50 },
    { limit: 1, before: 7, access: '', subject: '-' },
    { limit: 200, before: 999_999_999_999_999, access: '€'.repeat(64), subject: '€'.repeat(255) },
    { limit: 7, access: 'acc/../_?#%', subject },
  ]) {
    t.match(await audit(search), { entries: [{ machine: 'fra-2', atMs: 6 }], missing: [] })
    t.strictSame(asked.pop(), search)
  }
  const { entries } = await audit({ limit: 50 })
  t.strictSame(entries[0], { ...entry(6), machine: 'fra-2' }, 'unknown parts are left out')
  await audit({ limit: 1_000 })
  t.equal(asked.pop()?.limit, 200, 'more is not asked of a machine, whatever a page may have')
  asked.length = 0
  const anything = v.unknown()
  for (const path of ['-/-/-/201', '-/-/-/0', '-/-/x/1', '-/-/-/-', '-/-/-1/1', '_/-/-/1'])
    t.match(await peers.readEach(['fra'], `/audit/${path}`, anything), { missing: [] }, path)
  t.strictSame(asked, [])
})

t.test('a peer whose audit entries are too many, or none at all, is missing', async t => {
  const first = await freePorts()
  const own = { id: 'fra-1', port: first }
  const other = { id: 'fra-2', port: first + 1 }
  let answer: unknown
  const routes = [{ path: '/audit/:subject/:access/:before/:limit', answer: () => answer }]
  await open(t, other, [own], { routes })
  const { client: peers } = await open(t, own, [other])
  const audit = createAuditSum({
    own: async () => OWN,
    machine: 'fra-1',
    locations: ['fra'],
    peers,
  })
  const nested = (depth: number): unknown => (depth === 0 ? 0 : [nested(depth - 1)])
  for (const [name, given] of [
    ['no such route, as of an earlier build', undefined],
    ['no list', { entries: {} }],
    ['more rows than asked for', { entries: [entry(4), entry(3), entry(2)] }],
    ['more bytes', { entries: [entry(4, { request: 'x'.repeat(4 * 1024 ** 2) })] }],
    ['not older than asked for', { entries: [entry(9)] }],
    ['a time before 1970', { entries: [entry(-1)] }],
    ['no time', { entries: [entry(4), {}] }],
    ['an action that this build does not know', { entries: [entry(4, { action: 'fly' })] }],
    ['a deep request', { entries: [entry(4, { request: nested(2_000) })] }],
  ] as const) {
    answer = given
    t.strictSame(await audit({ limit: 2, before: 9 }), { ...SHOWN, missing: ['fra-2'] }, name)
  }
  answer = { entries: [entry(1e15)] }
  t.match(await audit({ limit: 2 }), { missing: ['fra-2'] }, 'a time that is no cursor')
  answer = { entries: [entry(4, { request: { networks: [nested(2)] } }), entry(3)] }
  t.match(await audit({ limit: 2, before: 9 }), { missing: [], next: 4 })
})

t.test('a peer that answers too late is missing from the audit log', async t => {
  const first = await freePorts()
  const own = { id: 'fra-1', port: first }
  const other = { id: 'fra-2', port: first + 1 }
  const pattern = '/audit/:subject/:access/:before/:limit'
  let end = (): void => {}
  const answer = () => new Promise(resolve => (end = () => resolve({ entries: [] })))
  await open(t, other, [own], { routes: [{ path: pattern, answer }] })
  const { client: peers } = await open(t, own, [other], { peerMs: 200 })
  const audit = createAuditSum({
    own: async () => OWN,
    machine: 'fra-1',
    locations: ['fra'],
    peers,
  })
  t.strictSame(await audit({ limit: 50 }), { ...SHOWN, missing: ['fra-2'] })
  end()
})
