import t from 'tap'
import { bootMs } from '../../src/native/os.js'
import { openSharedMemory } from '../../src/supervision/shared-memory.js'

t.test('two mappings of one data directory share their cells', async t => {
  const dir = t.testdir()
  const [control, edge] = [openSharedMemory(dir), openSharedMemory(dir)]
  t.equal(edge.accessVersion(), 0)
  t.equal(control.raiseAccessVersion(), 1)
  t.equal(edge.accessVersion(), 1)
})

t.test('an edge is unconfirmed from a change to its confirmation or its end', async t => {
  const shared = openSharedMemory(t.testdir())
  shared.raiseAccessVersion()
  shared.enterEdge(0, 100)
  shared.enterEdge(255, 200)
  t.strictSame(shared.unconfirmedEdges(1), [], 'an edge starts with the current version')
  const version = shared.raiseAccessVersion()
  t.strictSame(shared.unconfirmedEdges(version), [100, 200])
  shared.confirmVersion(0, version)
  t.strictSame(shared.unconfirmedEdges(version), [200])
  shared.leaveEdge(200)
  t.strictSame(shared.unconfirmedEdges(version), [])
})

t.test('a new supervisor removes the edges of the last one', async t => {
  const dir = t.testdir()
  openSharedMemory(dir).enterEdge(1, 100)
  const shared = openSharedMemory(dir)
  shared.clearEdges()
  t.strictSame(shared.unconfirmedEdges(Number.MAX_SAFE_INTEGER), [])
})

t.test('the version of a lease is a number until the lease ends', t => {
  const dir = t.testdir()
  const [writer, edge] = [openSharedMemory(dir), openSharedMemory(dir)]
  t.ok(Number.isNaN(edge.leasedVersion()), 'there is none before the first')
  const version = writer.raiseAccessVersion()
  const cases: [endMs: number, isLeased: boolean][] = [
    [Infinity, true],
    [bootMs() + 60_000, true],
    [bootMs(), false],
    [0, false],
    [Number.NaN, false],
  ]
  for (const [endMs, isLeased] of cases) {
    writer.setLeaseEnd(endMs)
    t.ok(Object.is(edge.leasedVersion(), isLeased ? version : Number.NaN), String(endMs))
    t.equal(edge.accessVersion(), version)
  }
  t.end()
})
