import t from 'tap'
import type { Commitment } from '../../src/native/reads.js'
import { requireBlock, requireBlockhashes, requireReached } from '../../src/rpc/require-block.js'
import { attempt } from '../fixtures/attempt.js'
import { fakeReads } from '../fixtures/rpc/fake-reads.js'

const TIP = { slot: 9, parentSlot: 8, blockHeight: 7, blockhash: '' }
const FINAL = { slot: 5, parentSlot: 4, blockHeight: 3, blockhash: '' }

const reads = fakeReads({ block: commitment => (commitment === 'finalized' ? FINAL : TIP) })
const wanted = (commitment: Commitment, minContextSlot?: number) => ({ commitment, minContextSlot })
t.equal(requireBlock(reads, wanted('confirmed')), TIP)
t.equal(requireBlock(reads, wanted('finalized')), FINAL)
for (const [commitment, slot, reached] of [
  ['confirmed', 9, true],
  ['confirmed', 10, false],
  ['finalized', 5, true],
  ['finalized', 6, false],
] as const) {
  const early = '-32016 Minimum context slot has not been reached'
  const expected = reached ? undefined : early
  const name = `${commitment} ${slot}`
  t.equal(
    attempt(() => requireReached(reads, wanted(commitment, slot))),
    expected,
    name,
  )
}
t.equal(
  attempt(() => requireReached(fakeReads({ block: () => undefined }), wanted('finalized'))),
  undefined,
  'without a minimum the block is not looked up',
)
t.equal(
  attempt(() => requireBlock(fakeReads({ block: () => undefined }), wanted('finalized'))),
  '-32603 The index has no block yet',
)

const expired = (areExpired: boolean) =>
  attempt(() => requireBlockhashes({ ...reads, areBlockhashesExpired: () => areExpired }))
t.equal(expired(true), '-32005 Node is unhealthy')
t.equal(expired(false), undefined)
t.equal(
  attempt(() => requireBlockhashes(reads)),
  undefined,
)
