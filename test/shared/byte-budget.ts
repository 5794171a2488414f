import fc from 'fast-check'
import t from 'tap'
import { ByteBudget, type ByteShare } from '../../src/shared/byte-budget.js'

t.test('an owner takes no more than it leaves free', t => {
  const budget = new ByteBudget(120)
  const first = budget.open('a')
  const second = budget.open('b')
  t.equal(first.tryTake(60), true)
  t.equal(budget.open('a').tryTake(1), false, 'half, alone')
  t.equal(second.tryTake(30), true)
  t.equal(second.tryTake(1), false)
  t.equal(budget.open('c').tryTake(15), true)
  t.equal(budget.open(undefined).tryTake(15), true, 'without an owner up to the whole')
  t.equal(budget.open(undefined).tryTake(1), false)
  t.equal(first.refusedCount, 3)
  first.give()
  t.equal(budget.bytes, 60)
  t.equal(second.tryTake(15), true)
  t.end()
})

t.test('whatever is taken and given back, no budget is negative', t => {
  const share = fc.nat({ max: 5 })
  const bytes = fc.integer({ min: 0, max: 64 })
  const step = fc.oneof(
    fc.record({ kind: fc.constant('tryTake' as const), share, bytes }),
    fc.record({ kind: fc.constant('take' as const), share, bytes }),
    fc.record({ kind: fc.constant('give' as const), share, bytes }),
    fc.record({ kind: fc.constant('giveAll' as const), share, bytes }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), steps => {
      const budget = new ByteBudget(256)
      const owners = ['a', 'a', 'b', 'c', undefined, undefined]
      const shares: ByteShare[] = owners.map(owner => budget.open(owner))
      for (const { kind, share: index, bytes: count } of steps) {
        const one = shares[index]
        if (kind === 'tryTake') one?.tryTake(count)
        else if (kind === 'take') one?.take(count)
        // More than was taken, too.
        else one?.give(kind === 'give' ? count : undefined)
        const sum = shares.reduce((total, each) => total + each.bytes, 0)
        if (budget.bytes !== sum || shares.some(each => each.bytes < 0)) return false
      }
      for (const one of shares) one.give()
      for (const one of shares) one.give()
      return budget.bytes === 0 && budget.open('a').tryTake(128)
    }),
  )
  t.end()
})
