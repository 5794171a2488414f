import t, { type Test } from 'tap'
import { createEdgeNotifier } from '../../../src/control/accesses/edge-notifier.js'
import { openSharedMemory } from '../../../src/supervision/shared-memory.js'

/** Control's side and the edges' side, as two mappings of one file. */
const setUp = (
  t: Test,
  {
    onEndEdge = () => {},
    confirmMs = 30,
  }: { onEndEdge?: (pid: number) => void; confirmMs?: number } = {},
) => {
  const dir = t.testdir()
  const control = openSharedMemory(dir)
  const edges = openSharedMemory(dir)
  const ended: number[] = []
  const notifier = createEdgeNotifier({
    shared: control,
    confirmMs,
    endMs: 30,
    announce: () => {},
    endEdge: pid => {
      ended.push(pid)
      onEndEdge(pid)
    },
    now: () => performance.now(),
  })
  return { edges, control, notifier, ended }
}

t.test('without an edge a change is in effect at once', async t => {
  const { edges, notifier, ended } = setUp(t)
  await notifier.awaitAcknowledged()
  await notifier.announce()
  t.equal(edges.accessVersion(), 2)
  t.strictSame(ended, [])
})

t.test('a change waits for every edge, and for no other', async t => {
  const { edges, notifier, ended } = setUp(t, { confirmMs: 60_000 })
  edges.enterEdge(0, 100)
  edges.enterEdge(255, 200)
  let isSettled = false
  const settled = notifier.awaitAcknowledged().then(() => void (isSettled = true))
  edges.confirmVersion(0, edges.accessVersion())
  await new Promise(resolve => setTimeout(resolve, 5))
  t.notOk(isSettled, 'one has not confirmed')
  edges.confirmVersion(255, edges.accessVersion())
  await settled
  t.strictSame(ended, [])
})

t.test('an edge that does not confirm is ended, by its process id', async t => {
  const { edges, notifier, ended } = setUp(t, { onEndEdge: pid => edges.leaveEdge(pid) })
  edges.enterEdge(0, 100)
  edges.enterEdge(1, 200)
  const settled = notifier.awaitAcknowledged()
  edges.confirmVersion(1, edges.accessVersion())
  await settled
  t.strictSame(ended, [100])
})

t.test('an edge that was started again has confirmed by that', async t => {
  const { edges, notifier } = setUp(t, { onEndEdge: () => edges.enterEdge(0, 101) })
  edges.enterEdge(0, 100)
  await notifier.awaitAcknowledged()
  t.strictSame(edges.unconfirmedEdges(edges.accessVersion()), [])
})

t.test('an edge that cannot be ended is reported', async t => {
  const { edges, notifier, ended, control } = setUp(t)
  edges.enterEdge(0, 100)
  await t.rejects(notifier.awaitAcknowledged(), { name: 'notConfirmed' })
  t.strictSame(ended, [100])
  control.clearEdges()
  await notifier.awaitAcknowledged()
})
