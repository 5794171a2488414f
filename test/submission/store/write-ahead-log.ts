import t from 'tap'
import {
  ENDING_BYTES_MAX,
  ENTRY_BYTES_MAX,
  WAL_SLOT_BYTES,
  WriteAheadLog,
} from '../../../src/submission/store/write-ahead-log.js'

const entry = (byteLength: number, fill: number): Uint8Array =>
  new Uint8Array(byteLength).fill(fill)

t.test('slots are used, cleared and used again', t => {
  const bytes = new Uint8Array(2 * WAL_SLOT_BYTES)
  const log = new WriteAheadLog(bytes)
  const [one, two] = [log.append(entry(5, 1)), log.append(entry(6, 2))]
  t.equal(log.append(entry(1, 3)), undefined)
  t.equal(log.appendEnding(one ?? -1, entry(7, 4)), true)
  t.strictSame(new WriteAheadLog(bytes).recover(), [
    { slot: one, entry: entry(5, 1), ending: entry(7, 4) },
    { slot: two, entry: entry(6, 2), ending: undefined },
  ])
  log.clear(one ?? -1)
  t.strictSame(new WriteAheadLog(bytes).recover(), [
    { slot: two, entry: entry(6, 2), ending: undefined },
  ])
  t.equal(log.append(entry(1, 3)), one)
  t.strictSame(new WriteAheadLog(bytes).recover()[0], {
    slot: one,
    entry: entry(1, 3),
    ending: undefined,
  })
  t.end()
})

t.test('a recovered slot is not used before it is cleared', t => {
  const bytes = new Uint8Array(2 * WAL_SLOT_BYTES)
  new WriteAheadLog(bytes).append(entry(1, 1))
  const next = new WriteAheadLog(bytes)
  t.equal(next.append(entry(1, 2)), 1)
  t.equal(next.append(entry(1, 2)), undefined)
  next.clear(0)
  t.equal(next.append(entry(1, 2)), 0)
  t.end()
})

t.test('an entry that is too long is refused, and so is an ending', t => {
  const bytes = new Uint8Array(WAL_SLOT_BYTES)
  const log = new WriteAheadLog(bytes)
  t.equal(log.append(entry(ENTRY_BYTES_MAX + 1, 1)), undefined)
  const begun = entry(ENTRY_BYTES_MAX, 1)
  t.equal(log.append(begun), 0)
  t.equal(log.appendEnding(0, entry(ENDING_BYTES_MAX + 1, 2)), false)
  t.strictSame(new WriteAheadLog(bytes).recover(), [{ slot: 0, entry: begun, ending: undefined }])
  t.equal(log.appendEnding(0, entry(ENDING_BYTES_MAX, 2)), true)
  t.strictSame(new WriteAheadLog(bytes).recover(), [
    { slot: 0, entry: begun, ending: entry(ENDING_BYTES_MAX, 2) },
  ])
  t.end()
})

t.test('after every step a new process finds the state that it left', t => {
  const bytes = new Uint8Array(WAL_SLOT_BYTES)
  const states: unknown[] = []
  const log = new WriteAheadLog(bytes)
  const look = () =>
    states.push(
      new WriteAheadLog(Uint8Array.from(bytes))
        .recover()
        .map(({ entry, ending }) => [entry, ending]),
    )
  log.append(entry(3, 1))
  look()
  log.appendEnding(0, entry(4, 2))
  look()
  log.clear(0)
  look()
  t.strictSame(states, [[[entry(3, 1), undefined]], [[entry(3, 1), entry(4, 2)]], []])
  t.end()
})
