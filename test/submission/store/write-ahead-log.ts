import t from 'tap'
import {
  BEGUN_BYTES_MAX,
  createJournal,
  ENDED_BYTES_MAX,
  JOURNAL_PLACE_BYTES,
} from '../../../src/submission/store/write-ahead-log.js'

const entry = (byteLength: number, fill: number): Uint8Array =>
  new Uint8Array(byteLength).fill(fill)

t.test('places are taken, ended, freed and taken again', t => {
  const bytes = new Uint8Array(2 * JOURNAL_PLACE_BYTES)
  const journal = createJournal(bytes)
  const [one, two] = [journal.begin(entry(5, 1)), journal.begin(entry(6, 2))]
  t.equal(journal.begin(entry(1, 3)), undefined)
  t.equal(journal.end(one ?? -1, entry(7, 4)), true)
  t.strictSame(createJournal(bytes).left(), [
    { place: one, entry: entry(5, 1), ended: entry(7, 4) },
    { place: two, entry: entry(6, 2), ended: undefined },
  ])
  journal.clear(one ?? -1)
  t.strictSame(createJournal(bytes).left(), [{ place: two, entry: entry(6, 2), ended: undefined }])
  t.equal(journal.begin(entry(1, 3)), one)
  t.strictSame(createJournal(bytes).left()[0], { place: one, entry: entry(1, 3), ended: undefined })
  t.end()
})

t.test('a place that was left is not taken before it is freed', t => {
  const bytes = new Uint8Array(2 * JOURNAL_PLACE_BYTES)
  createJournal(bytes).begin(entry(1, 1))
  const next = createJournal(bytes)
  t.equal(next.begin(entry(1, 2)), 1)
  t.equal(next.begin(entry(1, 2)), undefined)
  next.clear(0)
  t.equal(next.begin(entry(1, 2)), 0)
  t.end()
})

t.test('what is too long is not begun, and leaves the first state where it ends so', t => {
  const bytes = new Uint8Array(JOURNAL_PLACE_BYTES)
  const journal = createJournal(bytes)
  t.equal(journal.begin(entry(BEGUN_BYTES_MAX + 1, 1)), undefined)
  const begun = entry(BEGUN_BYTES_MAX, 1)
  t.equal(journal.begin(begun), 0)
  t.equal(journal.end(0, entry(ENDED_BYTES_MAX + 1, 2)), false)
  t.strictSame(createJournal(bytes).left(), [{ place: 0, entry: begun, ended: undefined }])
  t.equal(journal.end(0, entry(ENDED_BYTES_MAX, 2)), true)
  t.strictSame(createJournal(bytes).left(), [
    { place: 0, entry: begun, ended: entry(ENDED_BYTES_MAX, 2) },
  ])
  t.end()
})

t.test('a death amid a step leaves the state before it or after it', t => {
  const bytes = new Uint8Array(JOURNAL_PLACE_BYTES)
  const states: unknown[] = []
  // Every write in order, as another process would find it if this one ended just then.
  const spy = new Proxy(bytes, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  const journal = createJournal(spy)
  const look = () =>
    states.push(
      createJournal(Uint8Array.from(bytes))
        .left()
        .map(({ entry, ended }) => [entry, ended]),
    )
  journal.begin(entry(3, 1))
  look()
  journal.end(0, entry(4, 2))
  look()
  journal.clear(0)
  look()
  t.strictSame(states, [[[entry(3, 1), undefined]], [[entry(3, 1), entry(4, 2)]], []])
  t.end()
})
