import fc from 'fast-check'
import t from 'tap'
import { ByteBudget } from '../../../src/server/http/byte-budget.js'

t.test('an owner takes no more than it leaves free', t => {
  const budget = new ByteBudget(120)
  t.equal(budget.tryTake('a', 60), true)
  t.equal(budget.tryTake('a', 1), false, 'half, alone')
  t.equal(budget.tryTake('b', 30), true)
  t.equal(budget.tryTake('b', 1), false)
  t.equal(budget.tryTake('c', 15), true)
  t.equal(budget.tryTake(undefined, 15), true, 'without an owner up to the whole')
  t.equal(budget.tryTake(undefined, 1), false)
  budget.give('a', 60)
  t.equal(budget.bytes, 60)
  t.equal(budget.tryTake('b', 15), true)
  t.end()
})

t.test('what is given back can be taken again; an owner without bytes is forgotten', t => {
  const owner = fc.constantFrom('a', 'b', 'c', undefined)
  const take = fc.record({ owner, bytes: fc.integer({ min: 1, max: 64 }) })
  fc.assert(
    fc.property(fc.array(take, { maxLength: 60 }), takes => {
      const budget = new ByteBudget(256)
      const taken = takes.filter(({ owner, bytes }) => budget.tryTake(owner, bytes))
      const sum = taken.reduce((bytes, one) => bytes + one.bytes, 0)
      if (budget.bytes !== sum || sum > 256) return false
      for (const { owner, bytes } of taken) budget.give(owner, bytes)
      return budget.bytes === 0 && budget.tryTake('a', 128)
    }),
  )
  t.end()
})
