import t from 'tap'
import { findSigned, findSubmission } from '../../../src/submission/store/find-submission.js'
import { createIds } from '../../../src/submission/store/submission-id.js'
import type { Submission } from '../../../src/submission/store/submission.js'
import { ACCEPTED, PENDING } from '../../fixtures/submission/submission.js'

const NOW_MS = 1_900_000_000_000
const OPTIONS = { ageMsMax: 60_000, findMs: 60 }

/** Looks a submission of an age up, of which reads return one value after another. */
const find = async (ageMs: number, results: readonly (Submission | undefined)[]) => {
  let count = 0
  const read = () => results[Math.min(count++, results.length - 1)]
  const id = createIds(() => NOW_MS - ageMs)()
  const found = await findSubmission(id, { read, now: () => NOW_MS, options: OPTIONS })
  return { found, count }
}

t.test('a submission that has ended is found at once', async t => {
  t.strictSame(await find(0, [ACCEPTED]), { found: ACCEPTED, count: 1 })
})

t.test('a submission that is about to be stored is awaited', async t => {
  t.strictSame((await find(10, [undefined, PENDING, ACCEPTED])).found, ACCEPTED)
})

t.test('a submission that stays in flight is found as pending', async t => {
  t.strictSame((await find(10, [PENDING])).found, PENDING)
})

t.test('an unknown recent submission is awaited for a bounded time', async t => {
  const { found, count } = await find(10, [undefined])
  t.equal(found, undefined)
  t.ok(count > 1)
})

t.test('an older submission is not awaited', async t => {
  t.strictSame(await find(20_000, [undefined]), { found: undefined, count: 1 })
})

t.test('one that is found by its signature is awaited for as long', async t => {
  const submission = { id: createIds(() => NOW_MS)(), submission: PENDING }
  let count = 0
  const read = (at: number) => () => (count++ >= at ? submission : undefined)
  t.equal(await findSigned(read(0), OPTIONS), submission)
  t.equal(count, 1, 'at once')
  count = 0
  t.equal(await findSigned(read(3), OPTIONS), submission)
  count = 0
  t.equal(await findSigned(read(1_000), OPTIONS), undefined)
  t.ok(count > 3 && count < 20, `${count} look-ups in ${OPTIONS.findMs} ms`)
})

t.test('a submission older than the age of records is not returned', async t => {
  t.strictSame((await find(60_000, [ACCEPTED])).found, ACCEPTED)
  t.equal((await find(60_001, [ACCEPTED])).found, undefined)
})
