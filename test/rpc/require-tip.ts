import t from 'tap'
import { requireTip } from '../../src/rpc/require-tip.js'
import { attempt } from '../fixtures/attempt.js'
import { fakeReads } from '../fixtures/rpc/fake-reads.js'

const TIP = { slot: 9, parentSlot: 8, blockHeight: 7, blockhash: '' }

t.equal(requireTip(fakeReads({ tip: () => TIP })), TIP)
t.equal(
  attempt(() => requireTip(fakeReads({ tip: () => undefined }))),
  '-32603 The index has no block yet',
)
