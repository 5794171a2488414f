// What control reads of the other machines of a cluster, over their certificates.
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openClusterPeers, type ClusterPeers } from '../../../src/control/cluster/cluster-peers.js'
import { defaults } from '../../../src/cluster/options.js'
import type { KnownMachine } from '../../../src/cluster/machine-directory.js'
import type { PeerRoute } from '../../../src/cluster/peers/peer-server.js'
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
  { routes = [], known = true }: { routes?: readonly PeerRoute[]; known?: boolean } = {},
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
      peerMs: PEER_MS,
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
