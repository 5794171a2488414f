import t from 'tap'
import { SlotFaults } from '../../../src/sandbox/geyser/slot-faults.js'

t.test('a swapped slot is sent after its successor, once', async t => {
  const faults = new SlotFaults()
  faults.swapped.add(3)
  const sent = [2, 3, 4, 5].map(slot =>
    faults.order({ slot, parentSlot: slot - 1 }).map(({ slot }) => slot),
  )
  t.strictSame(sent, [[2], [], [4, 3], [5]])
})

t.test('only the named slots have faults', async t => {
  const faults = new SlotFaults()
  t.equal(faults.repeatsOf(1), 0)
  t.notOk(faults.isForked(1))
  faults.doubled.add(1)
  faults.forked.add(1)
  t.equal(faults.repeatsOf(1), 1)
  t.ok(faults.isForked(1))
})
