import t from 'tap'
import { EngineOrder, orderWords } from '../../../src/submission/relay/engine-order.js'

const EDGES = 3

/** The order of three edges over shared words, and their clock. */
const open = () => {
  const words = new BigInt64Array(10 + orderWords(EDGES))
  const clock = { ns: 1_000n }
  const create = (edgeIndex: number): EngineOrder =>
    new EngineOrder({ words, index: 10, edgeIndex, edgeCount: EDGES, nowNs: () => clock.ns })
  return { words, clock, create, edges: [create(0), create(1), create(2)] as const }
}

t.test('an access was served when any edge served it', t => {
  const { clock, edges, words } = open()
  const [one, other] = edges
  t.equal(one.servedNs('a'), 0n)
  other.markServed('a')
  t.equal(one.servedNs('a'), 1_000n)
  t.equal(one.servedNs('b'), 0n)
  clock.ns = 2_000n
  one.markServed('a')
  t.equal(other.servedNs('a'), 2_000n)
  // After a reboot the clock starts again.
  clock.ns = 5n
  t.equal(one.servedNs('a'), 0n)
  t.ok(
    words.subarray(0, 10).every(word => word === 0n),
    'other words are left alone',
  )
  t.end()
})

t.test('the access served least recently is next, then the first request', t => {
  const { edges, create } = open()
  const [one, other, third] = edges
  const at = (servedNs: bigint, arrivedNs: bigint) => ({ servedNs, arrivedNs })
  t.notOk(one.isBehind(at(900n, 990n)), 'none waits')
  other.publish(at(500n, 700n))
  third.publish(at(600n, 1n))
  const cases: [name: string, servedNs: bigint, arrivedNs: bigint, isBehind: boolean][] = [
    ['never served', 0n, 999n, false],
    ['served before', 499n, 999n, false],
    ['served after', 501n, 1n, true],
    ['the same access, arrived before', 500n, 699n, false],
    ['the same access, arrived after', 500n, 701n, true],
  ]
  for (const [name, servedNs, arrivedNs, isBehind] of cases)
    t.equal(one.isBehind(at(servedNs, arrivedNs)), isBehind, name)
  t.notOk(other.isBehind(at(500n, 700n)), 'it is not behind itself')
  other.publish(undefined)
  t.notOk(one.isBehind(at(550n, 1n)))
  third.publish(at(0n, 1n))
  t.ok(one.isBehind(at(550n, 1n)), 'never served is before all')
  // An edge that starts again has no request.
  create(2)
  t.notOk(one.isBehind(at(550n, 1n)))
  t.end()
})
