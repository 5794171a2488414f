import t from 'tap'
import { StoreReader } from '../../../src/submission/store/store-reader.js'
import type { LaneReport, Submission } from '../../../src/submission/store/submission.js'
import { openStores as open } from '../../fixtures/submission/store.js'
import { ACCEPTED } from '../../fixtures/submission/submission.js'
import { until } from '../../fixtures/until.js'

const lane = (outcome: LaneReport['outcome']): LaneReport => ({
  ...{ lane: outcome, outcome },
  writtenAfterMs: 1,
  answeredAfterMs: null,
})
const RACING: Submission = { ...ACCEPTED, lanes: [lane('accepted'), lane('pending')] }
const outcomesOf = (submission: Submission | undefined) =>
  submission?.lanes?.map(({ outcome }) => outcome)
const SETTLED = ['accepted', 'unknown']

t.test('lanes that a former sender left are unknown; those of this one are not', async t => {
  const { dir, openStore, openSuccessor, newId, faults } = await open(t)
  const former = await openStore()
  const store = await openSuccessor()
  const reader = new StoreReader(dir)
  const [left, own, pending] = [newId(), newId(), newId()] as const
  former.record(left, RACING)
  former.record(pending, { ...RACING, outcome: 'pending' })
  store.record(own, RACING)
  const ids = [left, own, pending]
  await until('all are stored', () => ids.every(id => reader.get(id) !== undefined))
  await former.close()
  await store.resume()
  await until('it is unknown', () => outcomesOf(reader.get(left))?.[1] === 'unknown')
  t.strictSame(outcomesOf(reader.get(left)), SETTLED)
  await until('so is the other', () => reader.get(pending)?.outcome === 'unknown')
  t.strictSame(outcomesOf(reader.get(pending)), SETTLED)
  t.strictSame(outcomesOf(reader.get(own)), ['accepted', 'pending'])
  await store.amend(own, { lanes: [lane('accepted'), lane('refused')] })
  t.strictSame(outcomesOf(reader.get(own)), ['accepted', 'refused'])
  await store.resume()
  t.strictSame(outcomesOf(reader.get(own)), ['accepted', 'refused'])
  await reader.close()
  await store.close()
  t.strictSame(faults, [])
})

t.test('lanes in the write-ahead log of a killed sender are unknown', async t => {
  const { openStore, wal, newId, faults } = await open(t)
  const store = await openStore()
  const id = newId()
  store.record(id, RACING)
  const left = Uint8Array.from(wal)
  await store.close()
  wal.set(left)
  const again = await openStore('killed')
  t.strictSame(outcomesOf(again.get(id)), SETTLED)
  await again.close()
  t.strictSame(faults, [])
})
