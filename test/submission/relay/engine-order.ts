import t from 'tap'
import { EngineOrder } from '../../../src/submission/relay/engine-order.js'

const open = () => {
  const clock = { ms: 1_000 }
  return { clock, order: new EngineOrder(() => clock.ms) }
}

t.test('the access served least recently is next, then the first request', t => {
  const { clock, order } = open()
  clock.ms = 100_000
  const at = (servedMs: number, arrivedMs: number) => ({ servedMs, arrivedMs })
  const other = at(95_000, 700)
  const cases: [name: string, servedMs: number, arrivedMs: number, isBefore: boolean][] = [
    ['never served', 0, 999, true],
    ['served before', 94_999, 999, true],
    ['served after', 95_001, 1, false],
    ['the same access, arrived before', 95_000, 699, true],
    ['the same access, arrived after', 95_000, 701, false],
  ]
  for (const [name, servedMs, arrivedMs, isBefore] of cases)
    t.equal(order.isBefore(at(servedMs, arrivedMs), other), isBefore, name)
  // What is longer ago than 10 s does not count.
  t.notOk(order.isBefore(at(0, 2), at(90_000, 1)))
  t.ok(order.isBefore(at(0, 2), at(90_001, 1)))
  t.end()
})

t.test('an access that was refused keeps its place while it comes back', t => {
  const { clock, order } = open()
  t.equal(order.comesBack('a'), 0)
  order.markRefused('a')
  clock.ms = 3_999
  t.equal(order.comesBack('a'), 1_000)
  clock.ms = 6_000
  order.markRefused('a')
  t.equal(order.comesBack('a'), 1_000, 'since its first refusal')
  t.equal(order.comesBack('b'), 0)
  clock.ms = 9_000
  t.equal(order.comesBack('a'), 0, 'it has not come back in time')
  order.markRefused('a')
  order.markServed('a')
  t.equal(order.comesBack('a'), 0, 'it has got a token')
  t.equal(order.servedMs('a'), 9_000)
  t.end()
})

t.test('accesses without end are remembered up to a bound, the newest ones', t => {
  const { clock, order } = open()
  for (let nth = 0; nth < 10_000; nth++) {
    clock.ms += 0.1
    order.markServed(`served ${nth}`)
    order.markRefused(`refused ${nth}`)
  }
  t.equal(order.servedMs('served 0'), 0)
  t.not(order.servedMs('served 9999'), 0)
  t.equal(order.comesBack('refused 0'), 0)
  t.not(order.comesBack('refused 9999'), 0)
  t.end()
})
