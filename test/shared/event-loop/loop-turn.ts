import t from 'tap'
import { LoopTurn } from '../../../src/shared/event-loop/loop-turn.js'
import { countTurns } from '../../fixtures/count-turns.js'

t.test('work of one turn shares its time, which begins with the first question', async t => {
  const clock = { ms: 0 }
  const turn = new LoopTurn(2, () => clock.ms)
  clock.ms = 10
  t.equal(turn.isOver, false)
  clock.ms = 11.5
  t.equal(turn.isOver, false)
  clock.ms = 12
  t.equal(turn.isOver, true)
  t.equal(turn.isOver, true, 'until the next turn')
  await turn.next()
  t.equal(turn.isOver, false)
  clock.ms = 14
  t.equal(turn.isOver, true)
})

t.test('without a wait the next turn has its own time, too', async t => {
  const clock = { ms: 0 }
  const turn = new LoopTurn(2, () => clock.ms)
  t.equal(turn.isOver, false)
  clock.ms = 5
  t.equal(turn.isOver, true)
  await new Promise(resolve => setImmediate(resolve))
  t.equal(turn.isOver, false)
})

t.test('one that waits resumes in each turn, in order', async t => {
  const turns = countTurns(t)
  const turn = new LoopTurn(2, () => 0)
  const resumed: [name: string, turn: number][] = []
  const wait = async (name: string): Promise<void> => {
    await turn.next()
    resumed.push([name, turns()])
  }
  await Promise.all(['a', 'b', 'c'].map(wait))
  t.strictSame(
    resumed.map(([name]) => name),
    ['a', 'b', 'c'],
  )
  t.equal(new Set(resumed.map(([, at]) => at)).size, 3)
})
