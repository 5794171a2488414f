import t from 'tap'
import { createBook } from '../../../src/submission/store/book.js'
import { createIds } from '../../../src/submission/store/submission-id.js'
import type { Submission } from '../../../src/submission/store/submission.js'
import { ACCEPTED, PENDING } from '../../fixtures/submission/submission.js'

const NOW_MS = 1_900_000_000_000
const never = (): never => {
  throw new Error('not asked for')
}

/** A book whose own ledger and those of others answer one thing after another. */
const open = (own: (Submission | undefined)[], others: (Submission | undefined)[]) => {
  const looks = { own: 0, others: 0 }
  const next = (list: (Submission | undefined)[], name: keyof typeof looks) => () =>
    list[Math.min(looks[name]++, list.length - 1)]
  const ledger = { begin: never, record: never, get: next(own, 'own') }
  const ledgers = { find: next(others, 'others') }
  const book = createBook({ ageMsMax: 60_000, findMs: 60 }, { ledger, ledgers, now: () => NOW_MS })
  return { book, looks }
}
const idOf = (ageMs: number): Uint8Array => createIds(() => NOW_MS - ageMs)()

t.test('what this edge has ended is answered without a look at others', async t => {
  const { book, looks } = open([ACCEPTED], [undefined])
  t.strictSame(await book.find(idOf(0)), ACCEPTED)
  t.strictSame(looks, { own: 1, others: 0 })
})

t.test('what another edge has just ended is waited for a little', async t => {
  const later = open([undefined], [undefined, PENDING, ACCEPTED])
  t.strictSame(await later.book.find(idOf(10)), ACCEPTED)
  const flying = open([undefined], [PENDING])
  t.strictSame(await flying.book.find(idOf(10)), PENDING)
  const unknown = open([undefined], [undefined])
  t.equal(await unknown.book.find(idOf(10)), undefined)
  t.ok(unknown.looks.others > 1)
})

t.test('what is older is known or not, at once', async t => {
  const { book, looks } = open([undefined], [undefined])
  t.equal(await book.find(idOf(20_000)), undefined)
  t.equal(looks.others, 1)
})

t.test('what is older than records are kept is not answered, though it be there', async t => {
  const { book } = open([ACCEPTED], [ACCEPTED])
  t.strictSame(await book.find(idOf(60_000)), ACCEPTED)
  t.equal(await book.find(idOf(60_001)), undefined)
})
