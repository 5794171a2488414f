import t from 'tap'
import { decodeRecoveredEntry } from '../../../src/submission/store/recovered-entry.js'
import { pack } from '../../../src/submission/store/rows.js'
import { ACCEPTED, ENDING, PENDING } from '../../fixtures/submission/submission.js'

const ID = Buffer.alloc(16, 7)
const toEntry = (pending: object, ending?: object) => ({
  slot: 0,
  entry: Buffer.concat([ID, pack(pending)]),
  ending: ending && pack(ending),
})

/** Decodes entries, and collects the faults that are reported. */
const open = () => {
  const faults: unknown[] = []
  const decode = (entry: Parameters<typeof decodeRecoveredEntry>[0]) =>
    decodeRecoveredEntry(entry, fault => faults.push(fault))
  return { faults, decode }
}

t.test('an entry and its ending make the whole submission', t => {
  const { faults, decode } = open()
  t.strictSame(decode(toEntry(PENDING)), [ID, PENDING])
  t.strictSame(decode(toEntry(PENDING, ENDING)), [ID, ACCEPTED])
  t.strictSame(faults, [])
  t.end()
})

t.test('an ending that cannot be decoded is reported and ignored', t => {
  const { faults, decode } = open()
  // Bytes that end too early, a number, a list and null.
  const endings = [[0xd9, 9], [5], [0x90], [0xc0]].map(bytes => Uint8Array.from(bytes))
  for (const ending of endings)
    t.strictSame(decode({ ...toEntry(PENDING), ending })[1], PENDING, String(ending))
  t.equal(faults.length, endings.length)
  t.end()
})

t.test('an entry that cannot be decoded is thrown', t => {
  const { decode } = open()
  for (const pending of [[], {}, { ...PENDING, outcome: 'x' }])
    t.throws(() => decode(toEntry(pending)))
  t.throws(() => decode(toEntry(PENDING, { outcome: 'x' })))
  t.end()
})
