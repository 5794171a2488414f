import t from 'tap'
import * as v from 'valibot'
import { recall } from '../../../src/submission/store/recovered-entry.js'
import { submissionSchema } from '../../../src/submission/store/submission.js'
import { ACCEPTED, ENDING, PENDING } from '../../fixtures/submission/submission.js'

const ID = Buffer.alloc(16, 7)
const toBytes = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))
const codec = {
  unpack: (bytes: Uint8Array): unknown => JSON.parse(Buffer.from(bytes).toString()),
  parse: (value: unknown) => v.parse(submissionSchema, value),
}
const ENDS = ['{', '5', '[]', 'null'].map(text => Buffer.from(text))
const left = (begun: unknown, ended?: unknown) => ({
  place: 0,
  entry: Buffer.concat([ID, toBytes(begun)]),
  ended: ended === undefined ? undefined : toBytes(ended),
})

t.test('what was begun and how it ended are the whole submission', t => {
  const faults: unknown[] = []
  const read = (...parts: Parameters<typeof left>) =>
    recall(left(...parts), codec, fault => faults.push(fault))
  t.strictSame(read(PENDING), [ID, PENDING])
  t.strictSame(read(PENDING, ENDING), [ID, ACCEPTED])
  t.strictSame(faults, [])
  t.end()
})

t.test('an end that cannot be read is told and left out; a beginning must be whole', t => {
  const faults: unknown[] = []
  const told = (fault: unknown): void => void faults.push(fault)
  for (const ended of ENDS) {
    t.strictSame(recall({ ...left(PENDING), ended }, codec, told)[1], PENDING, String(ended))
  }
  t.equal(faults.length, ENDS.length)
  for (const begun of [5, {}, { ...PENDING, outcome: 'x' }])
    t.throws(() => recall(left(begun), codec, told))
  t.throws(() => recall(left(PENDING, { outcome: 'x' }), codec, told))
  t.end()
})
