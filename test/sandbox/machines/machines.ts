import t from 'tap'
import { machinesOf } from '../../../src/sandbox/machines/machines.js'
import { portsFrom } from '../../../src/sandbox/ports.js'

t.test('every third machine is at the second location, and no port is used twice', async t => {
  for (const count of [3, 9]) {
    const cluster = machinesOf({ dataDir: '/d', port: 1_000, machines: count })
    const { machines, memberPort, memberCount } = cluster
    const ids = ['fra-1', 'fra-2', 'nyc-1', 'fra-3', 'fra-4', 'nyc-2', 'fra-5', 'fra-6', 'nyc-3']
    t.strictSame(
      machines.map(({ id }) => id),
      ids.slice(0, count),
    )
    t.ok(machines.every(({ id, location }) => id.startsWith(location)))
    const ports = portsFrom(1_000)
    t.match(machines, [
      { port: ports.fra, dashboardPort: ports.dashboard, metricsPort: ports.metrics },
      {},
      { port: ports.nyc },
    ])
    const own = machines.flatMap(({ port, dashboardPort, metricsPort, peerPort }) => [
      port,
      port + 1,
      dashboardPort,
      metricsPort,
      peerPort,
    ])
    const members = Array.from({ length: 2 * memberCount }, (_, index) => memberPort + index)
    const { geyser, rpc, lander, bundleEngine, identity } = ports
    const all = [...own, ...members, geyser, rpc, lander, bundleEngine, identity]
    t.equal(new Set(all).size, all.length)
    t.ok(Math.max(...all) <= 1_000 + 65)
  }
})
