import t, { type Test } from 'tap'
import { defaults } from '../../../src/submission/store/options.js'
import { edgePath } from '../../../src/submission/store/store-readers.js'
import { createIds } from '../../../src/submission/store/submission-id.js'
import { openSubmissionStore, walBytes } from '../../../src/submission/store/submission-store.js'
import type { Submission } from '../../../src/submission/store/submission.js'
import { ACCEPTED, PENDING } from '../../fixtures/submission/submission.js'

const NOW_MS = 1_900_000_000_000
const OPTIONS = { ...defaults, ageMsMax: 60_000, findMs: 60 }

/** A store beside those of other edges, which return one value after another. */
const open = async (t: Test, results: readonly (Submission | undefined)[]) => {
  const reads = { count: 0 }
  const others = { find: () => results[Math.min(reads.count++, results.length - 1)] }
  const dir = edgePath(t.testdir(), 0)
  const onFault = (fault: unknown) => t.fail(String(fault))
  const wal = new Uint8Array(walBytes(OPTIONS))
  const store = await openSubmissionStore(dir, { wal, others, now: () => NOW_MS, onFault }, OPTIONS)
  t.teardown(() => store.close())
  return { store, reads }
}
const idOf = (ageMs: number): Uint8Array => createIds(() => NOW_MS - ageMs)()

t.test('a submission that ended at this edge is found without other edges', async t => {
  const { store, reads } = await open(t, [undefined])
  const id = idOf(0)
  store.record(id, ACCEPTED)
  t.strictSame(await store.find(id), ACCEPTED)
  t.equal(reads.count, 0)
})

t.test('a submission that another edge is about to store is awaited', async t => {
  const { store } = await open(t, [undefined, PENDING, ACCEPTED])
  t.strictSame(await store.find(idOf(10)), ACCEPTED)
})

t.test('a submission that stays in flight at another edge is found as pending', async t => {
  const { store } = await open(t, [PENDING])
  t.strictSame(await store.find(idOf(10)), PENDING)
})

t.test('an unknown recent submission is awaited for a bounded time', async t => {
  const { store, reads } = await open(t, [undefined])
  t.equal(await store.find(idOf(10)), undefined)
  t.ok(reads.count > 1)
})

t.test('an older submission is not awaited', async t => {
  const { store, reads } = await open(t, [undefined])
  t.equal(await store.find(idOf(20_000)), undefined)
  t.equal(reads.count, 1)
})

t.test('a submission older than the age of records is not returned', async t => {
  const { store } = await open(t, [ACCEPTED])
  t.strictSame(await store.find(idOf(60_000)), ACCEPTED)
  t.equal(await store.find(idOf(60_001)), undefined)
})
