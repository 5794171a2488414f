import t from 'tap'
import { GeyserFaults } from '../../../src/sandbox/geyser/faults.js'

t.test('a swapped slot is said behind the next one, once', async t => {
  const faults = new GeyserFaults()
  faults.swapped.add(3)
  const said = [2, 3, 4, 5].map(slot =>
    faults.order({ slot, parentSlot: slot - 1 }).map(({ slot }) => slot),
  )
  t.strictSame(said, [[2], [], [4, 3], [5]])
})

t.test('what was not ordered does not happen', async t => {
  const faults = new GeyserFaults()
  t.equal(faults.repeatsOf(1), 0)
  t.notOk(faults.isForked(1))
  faults.doubled.add(1)
  faults.forked.add(1)
  t.equal(faults.repeatsOf(1), 1)
  t.ok(faults.isForked(1))
})
