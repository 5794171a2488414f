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

t.test('an edge states tips and slot times of its networks, which a new supervisor clears', t => {
  const dir = t.testdir()
  const [edge, follower] = [openSharedMemory(dir), openSharedMemory(dir)]
  t.strictSame([follower.tip(0), follower.slotMs(0)], [undefined, undefined])
  const networks = Array.from({ length: 130 }, (_, index) => index)
  edge.report(0, 'ok', [7, undefined, ...networks.slice(2)], [200, undefined, 400])
  edge.enterEdge(0, 100)
  const of = (network: number) => [follower.tip(network), follower.slotMs(network)]
  t.strictSame(
    [of(0), of(1), of(2)],
    [
      [7, 200],
      [undefined, undefined],
      [2, 400],
    ],
  )
  t.strictSame(
    [of(127), of(128)],
    [
      [127, undefined],
      [undefined, undefined],
    ],
    'those with a cell',
  )
  t.strictSame(follower.unconfirmedEdges(1), [100], 'no other cell is written')
  follower.setLagging(0, true)
  follower.clearEdges()
  t.strictSame(
    [of(0), of(2), edge.isLagging(0)],
    [[undefined, undefined], [undefined, undefined], false],
  )
  t.end()
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

t.test('the lanes of the machine are counted as long as a sender runs', t => {
  const dir = t.testdir()
  const [sender, edge] = [openSharedMemory(dir), openSharedMemory(dir)]
  t.equal(edge.lanes(), undefined, 'no sender')
  sender.enterSender(7)
  t.equal(edge.lanes(), undefined, 'no lanes')
  sender.reportLanes({ up: 2, down: 1, throttled: 0 })
  t.strictSame(edge.lanes(), { up: 2, down: 1, throttled: 0 })
  sender.enterSender(8)
  sender.leaveEdge(7)
  t.strictSame(edge.lanes(), { up: 2, down: 1, throttled: 0 }, 'its successor runs')
  sender.leaveEdge(8)
  t.equal(edge.lanes(), undefined)
  t.end()
})
