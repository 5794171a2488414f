import { mkdirSync } from 'node:fs'
import t from 'tap'
import { formatOwnMachine, ownMachineStatus } from '../../src/cli/machine-status.js'
import { toConfig } from '../../src/config/config.js'
import type { FollowerStatus } from '../../src/storage/follower-status.js'
import { followerPath, writeStatus } from '../../src/storage/status-file.js'
import { MINIMAL } from '../fixtures/config.js'

const NOW_MS = 1_000_000
const RUNNING: FollowerStatus = {
  pid: process.pid,
  atMs: NOW_MS - 1_000,
  leaseMs: 4_400,
  lags: { main: 2 },
  lagging: [],
  clocks: [],
}
const CLUSTER = {
  id: 's1',
  machine: 'fra-1',
  location: 'fra',
  store: ['https://etcd:2379'],
  caFile: 'ca.pem',
  certFile: 'fra-1.pem',
  keyFile: 'fra-1.key',
}
/** No process has this id: it is above the system's bound. */
const NO_PID = 2 ** 22 + 1

t.test('status of a machine of a cluster', t => {
  const dataDir = t.testdir()
  const location = { id: 'fra', name: 'Frankfurt', listeners: [{ host: '::1', port: 8899 }] }
  const single = { ...MINIMAL, dataDir, locations: [location] }
  t.equal(ownMachineStatus(toConfig(single), NOW_MS), undefined, 'of a machine by itself')

  const config = toConfig({ ...single, cluster: CLUSTER })
  const shown = (written?: Partial<FollowerStatus>): string => {
    if (written !== undefined) {
      mkdirSync(followerPath(dataDir), { recursive: true })
      writeStatus(followerPath(dataDir), { ...RUNNING, ...written })
    }
    const status = ownMachineStatus(config, NOW_MS)
    return status === undefined ? '' : formatOwnMachine(status)
  }
  const machine = 'machine fra-1 of cluster s1 at fra'
  const cases: [name: string, written: Partial<FollowerStatus> | undefined, text: string][] = [
    ['before its first start', undefined, 'not healthy: no follower runs\n  lease      0 s\n'],
    ['running', {}, 'healthy\n  lease      5 s\n  lag        main 2 slots\n'],
    ['a proof failed and the lease lasts', { reason: 'etcd: x' }, 'healthy\n  lease'],
    ['no lease', { leaseMs: 0, reason: 'etcd: x' }, 'not healthy: etcd: x\n  lease      0 s\n'],
    ['not yet', { leaseMs: 0 }, 'not healthy: it has not proved its accesses yet\n'],
    [
      'behind',
      { lags: { main: 9 }, lagging: ['main'] },
      'not healthy: main is 9 slots behind fra\n',
    ],
    [
      'stopped',
      { atMs: NOW_MS - 60_000 },
      `not healthy: process ${process.pid} has not written its status for 60 s\n`,
    ],
    ['ended', { pid: NO_PID }, 'not healthy: no follower runs\n'],
    [
      'that could not start',
      { pid: NO_PID, leaseMs: 0, reason: 'x.pem expired' },
      'not healthy: no follower runs: x.pem expired\n',
    ],
    [
      'with another clock',
      { clocks: ['the clock of x'] },
      'healthy\n  lease      5 s\n  lag        main 2 slots\n  clocks     the clock of x\n',
    ],
  ]
  for (const [name, written, text] of cases)
    t.ok(shown(written).startsWith(`${machine}: ${text}`), `${name}: ${shown()}`)
  t.end()
})
