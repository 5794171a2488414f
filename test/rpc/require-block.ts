import t from 'tap'
import { requireBlock, requireBlockhashes } from '../../src/rpc/require-block.js'
import { attempt } from '../fixtures/attempt.js'
import { fakeReads } from '../fixtures/rpc/fake-reads.js'

const TIP = { slot: 9, parentSlot: 8, blockHeight: 7, blockhash: '' }
const FINAL = { slot: 5, parentSlot: 4, blockHeight: 3, blockhash: '' }

const reads = fakeReads({ block: commitment => (commitment === 'finalized' ? FINAL : TIP) })
t.equal(requireBlock(reads, 'confirmed'), TIP)
t.equal(requireBlock(reads, 'finalized'), FINAL)
t.equal(
  attempt(() => requireBlock(fakeReads({ block: () => undefined }), 'finalized')),
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
