import t from 'tap'
import { decodeRecoveredEntry } from '../../../src/submission/store/recovered-entry.js'
import { ACCEPTED, ENDING, PENDING } from '../../fixtures/submission/submission.js'

const ID = Buffer.alloc(16, 7)
const toBytes = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))
const unpack = (bytes: Uint8Array): unknown => JSON.parse(Buffer.from(bytes).toString())
const toEntry = (pending: unknown, ending?: unknown) => ({
  slot: 0,
  entry: Buffer.concat([ID, toBytes(pending)]),
  ending: ending === undefined ? undefined : toBytes(ending),
})

/** Decodes entries, and collects the faults that are reported. */
const open = () => {
  const faults: unknown[] = []
  const modules = { unpack, onFault: (fault: unknown) => faults.push(fault) }
  const decode = (entry: Parameters<typeof decodeRecoveredEntry>[0]) =>
    decodeRecoveredEntry(entry, modules)
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
  const endings = ['{', '5', '[]', 'null'].map(text => Buffer.from(text))
  for (const ending of endings)
    t.strictSame(decode({ ...toEntry(PENDING), ending })[1], PENDING, String(ending))
  t.equal(faults.length, endings.length)
  t.end()
})

t.test('an entry that cannot be decoded is thrown', t => {
  const { decode } = open()
  for (const pending of [5, {}, { ...PENDING, outcome: 'x' }])
    t.throws(() => decode(toEntry(pending)))
  t.throws(() => decode(toEntry(PENDING, { outcome: 'x' })))
  t.end()
})
