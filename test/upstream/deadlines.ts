import fc from 'fast-check'
import t from 'tap'
import { Deadlines, type Deadline, type Waiting } from '../../src/upstream/deadlines.js'
import { createFakeTimers } from '../fixtures/fake-timers.js'

const LIMIT_MS = 100

const open = () => {
  const timers = createFakeTimers()
  const heard: string[] = []
  const deadlines = new Deadlines(LIMIT_MS, timers)
  const waiting = (name: string, also = () => {}): Waiting => ({
    onOverdue: () => {
      heard.push(`${name} at ${timers.now()}`)
      also()
    },
  })
  return { ...timers, timerCount: timers.waiting, deadlines, heard, waiting }
}

t.test('who waits too long hears of it once, and who has ended does not', async t => {
  const { deadlines, heard, waiting, pass, next } = open()
  const [a, b, c] = [waiting('a'), waiting('b'), waiting('c')]
  const begun = deadlines.begin(a)
  await pass(30)
  deadlines.begin(b)
  await pass(30)
  deadlines.begin(c)
  deadlines.end(begun)
  await pass(40)
  t.strictSame(heard, [], 'nobody is due where the first one was')
  t.equal(next(), 30)
  await pass(30)
  t.strictSame(heard, ['b at 130'])
  await pass(100)
  t.strictSame(heard, ['b at 130', 'c at 230'])
  deadlines.begin(a)
  await pass(99)
  t.equal(heard.length, 2)
  await pass(1)
  t.strictSame(heard.slice(2), ['a at 330'], 'after a pause as before')
})

t.test('one begins, and one ends, while others are told', async t => {
  const { deadlines, heard, waiting, pass } = open()
  const last = waiting('last')
  const first = deadlines.begin(
    waiting('first', () => {
      deadlines.end(first)
      deadlines.begin(last)
    }),
  )
  deadlines.begin(waiting('second'))
  await pass(100)
  await pass(100)
  t.strictSame(heard, ['first at 100', 'second at 100', 'last at 200'])
})

t.test('whatever begins and ends, all who are due are told, in order, by one timer', async t => {
  const step = fc.record({
    what: fc.constantFrom('begin', 'end', 'wait'),
    nth: fc.integer({ min: 0, max: 60 }),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 80 }), async steps => {
      const world = open()
      const all = Array.from({ length: 8 }, (_, nth) => world.waiting(String(nth)))
      const wanted: string[] = []
      const model = new Map<number, number>()
      const begun = new Map<number, Deadline>()
      for (const { what, nth } of steps) {
        const name = nth % all.length
        const one = all[name]
        if (one === undefined) continue
        if (what === 'begin' && !model.has(name)) {
          model.set(name, world.now() + LIMIT_MS)
          begun.set(name, world.deadlines.begin(one))
        } else if (what === 'end') {
          // Also of what was told already.
          const deadline = begun.get(name)
          if (deadline !== undefined) world.deadlines.end(deadline)
          model.delete(name)
        } else if (what === 'wait') {
          await world.pass(nth)
          for (const [due, atMs] of model) {
            if (atMs > world.now()) continue
            wanted.push(`${due} at ${world.now()}`)
            model.delete(due)
          }
        }
        if (world.timerCount() > 1) t.fail('more than one timer')
      }
      t.strictSame(world.heard, wanted)
    }),
  )
})
