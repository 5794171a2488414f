import t from 'tap'
import { toTip } from '../../src/rpc/require-tip.js'
import { attempt } from '../fixtures/attempt.js'
import { fakeReads } from '../fixtures/rpc/fake-reads.js'

const TIP = { slot: 9, parentSlot: 8, blockHeight: 7, blockhash: '' }

t.equal(toTip(fakeReads({ tip: () => TIP })), TIP)
t.equal(
  attempt(() => toTip(fakeReads({ tip: () => undefined }))),
  '-32603 The index has no block yet',
)
