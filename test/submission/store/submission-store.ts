import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import * as v from 'valibot'
import { ENTRY_BYTES_MAX } from '../../../src/submission/store/write-ahead-log.js'
import { defaults } from '../../../src/submission/store/options.js'
import { senderPath, StoreReader } from '../../../src/submission/store/store-reader.js'
import { openLmdb } from '../../../src/storage/lmdb.js'
import { createIds, parseId } from '../../../src/submission/store/submission-id.js'
import { NOW_MS, openStores as open } from '../../fixtures/submission/store.js'
import { runOnFullDisk } from '../../fixtures/full-disk.js'
import { quietest } from '../../fixtures/quietest.js'
import { ACCEPTED, PENDING } from '../../fixtures/submission/submission.js'
import { until } from '../../fixtures/until.js'

/** What fixtures/submission/store-full-disk.ts prints. */
const FullDisk = v.object({
  stored: v.array(v.string()),
  lost: v.array(v.string()),
  faults: v.number(),
  inFlight: v.number(),
})

t.test('a submission can be read at once, and by every process when it is stored', async t => {
  const { dir, openStore, newId, faults } = await open(t)
  const store = await openStore()
  const reader = new StoreReader(dir)
  const id = newId()
  t.equal(reader.get(id), undefined)
  const record = store.begin(id, PENDING)
  t.strictSame(store.get(id), PENDING)
  t.equal(store.stats().inFlight, 1)
  const stored = record?.end(ACCEPTED)
  t.strictSame(store.get(id), ACCEPTED)
  t.equal(await stored, true)
  t.strictSame(store.get(id), ACCEPTED)
  t.strictSame(reader.get(id), ACCEPTED)
  t.equal(reader.get(newId()), undefined)
  t.equal(store.stats().inFlight, 0)
  t.equal(store.stats().records, 1)
  await reader.close()
  await store.close()
  t.strictSame(faults, [])
})

t.test('what a former sender left is unknown; what is in flight here is not', async t => {
  const { dir, openStore, openSuccessor, newId, faults } = await open(t, { pendingMs: 5 })
  const former = await openStore()
  const store = await openSuccessor()
  const reader = new StoreReader(dir)
  const [left, recorded, begun, ended] = [newId(), newId(), newId(), newId()] as const
  former.record(left, PENDING)
  store.record(recorded, PENDING)
  store.record(ended, PENDING)
  const record = store.begin(begun, PENDING)
  const ids = [left, recorded, begun, ended]
  await until('all are stored', () => ids.every(id => reader.get(id)?.outcome === 'pending'))
  await former.close()
  store.record(ended, ACCEPTED)
  await store.resume()
  await until('it is unknown', () => reader.get(left)?.outcome === 'unknown')
  t.equal(reader.get(recorded)?.outcome, 'pending')
  t.equal(reader.get(begun)?.outcome, 'pending')
  await until('it is accepted', () => reader.get(ended)?.outcome === 'accepted')
  t.equal(await record?.end(ACCEPTED), true)
  t.strictSame(reader.get(begun), ACCEPTED)
  await reader.close()
  await store.close()
  t.strictSame(faults, [])
})

t.test('a submission that takes long can be read by other processes as pending', async t => {
  const { dir, openStore, newId, faults } = await open(t, { pendingMs: 5 })
  const store = await openStore()
  const reader = new StoreReader(dir)
  const id = newId()
  const record = store.begin(id, PENDING)
  await until('it is stored', () => reader.get(id) !== undefined)
  t.strictSame(reader.get(id), PENDING)
  t.strictSame(store.get(id), PENDING)
  t.equal(await record?.end(ACCEPTED), true)
  t.strictSame(reader.get(id), ACCEPTED)
  await reader.close()
  await store.close()
  t.strictSame(faults, [])
})

t.test('a submission that a check refused is stored, too', async t => {
  const { openStore, newId } = await open(t)
  const store = await openStore()
  const id = newId()
  const invalid = { ...PENDING, outcome: 'invalid', checks: 'no', forwardedAtMs: null } as const
  store.record(id, invalid)
  t.strictSame(store.get(id), invalid)
  await until('it is stored', () => store.stats().records === 1)
  t.strictSame(store.get(id), invalid)
  await store.close()
})

/** Commits of a store so far. */
const commitCount = async (dir: string): Promise<number> => {
  const path = join(senderPath(dir), 'submissions-2')
  const options = { mapBytes: defaults.mapBytes, readersMax: defaults.readersMax, tablesMax: 8 }
  const store = openLmdb({ ...options, path, isReadOnly: true })
  const { lastTxnId } = v.parse(v.object({ lastTxnId: v.number() }), store.getStats())
  await store.close()
  return lastTxnId
}

/** Of 30 records. */
const COMMITS_MAX = 14

t.test('records that nobody waits for are stored together', async t => {
  const gathered = { gatherMs: 500, landedGatherMs: 500, gatherCountMax: 20 }
  const { dir, openStore, newId, faults } = await open(t, gathered)
  const store = await openStore()
  const countCommits = async (write: () => void): Promise<number> => {
    const before = await commitCount(dir)
    const records = store.stats().records + 30
    for (let count = 0; count < 30; count++) {
      write()
      await sleep(1)
    }
    await until('all are stored', () => store.stats().records === records)
    return (await commitCount(dir)) - before
  }
  const ways = {
    'records of what ended': () => store.record(newId(), ACCEPTED),
    'bundles that end': () => void store.begin(newId(), PENDING)?.end(ACCEPTED),
  }
  // LMDB's thread takes the writes of one turn in parts where others run between them.
  for (const [name, write] of Object.entries(ways)) {
    const commits = await quietest(COMMITS_MAX, () => countCommits(write))
    t.ok(commits <= COMMITS_MAX, `${name}: ${commits} commits`)
  }
  const last = newId()
  store.record(last, ACCEPTED)
  await store.close()
  const reader = new StoreReader(dir)
  t.strictSame(reader.get(last), ACCEPTED, 'a close does not wait, and stores what waited')
  await reader.close()
  t.strictSame(faults, [])
})

t.test('one more submission in flight than the bound is refused', async t => {
  const { openStore, newId } = await open(t, { inFlightMax: 2 })
  const store = await openStore()
  const records = [1, 2, 3].map(() => store.begin(newId(), PENDING))
  t.strictSame(
    records.map(record => record !== undefined),
    [true, true, false],
  )
  await records[0]?.end(ACCEPTED)
  t.ok(store.begin(newId(), PENDING))
  await store.close()
})

t.test(
  'submissions that a killed process left in flight are unknown, ended ones are not',
  async t => {
    const { dir, wal, openStore, newId, faults } = await open(t)
    const first = await openStore()
    const [left, stored] = [newId(), newId()]
    first.begin(left, PENDING)
    const ended = first.begin(stored, PENDING)?.end(ACCEPTED)
    const atKill = Uint8Array.from(wal)
    await ended
    await first.close()

    wal.set(atKill)
    const again = await openStore()
    t.strictSame(again.get(left), { ...PENDING, outcome: 'unknown' })
    t.strictSame(again.get(stored), ACCEPTED)
    t.equal(again.stats().inFlight, 0)
    const reader = new StoreReader(dir)
    t.equal(reader.get(left)?.outcome, 'unknown')
    await reader.close()
    await again.close()

    wal.set(atKill)
    const other = await openStore('other')
    t.strictSame(other.get(left), { ...PENDING, outcome: 'unknown' }, 'also what never reached it')
    t.strictSame(other.get(stored), ACCEPTED)
    await other.close()
    t.strictSame(faults, [])
  },
)

t.test(
  'a stored pending submission of a sender that died is unknown after its next start',
  async t => {
    const { dir, wal, openStore, newId, faults } = await open(t, { pendingMs: 5 })
    const first = await openStore()
    const reader = new StoreReader(dir)
    const id = newId()
    first.begin(id, PENDING)
    await until('others see it', () => reader.get(id)?.outcome === 'pending')
    const atKill = Uint8Array.from(wal)
    await first.close()
    wal.set(atKill)
    const again = await openStore()
    t.strictSame(again.get(id), { ...PENDING, outcome: 'unknown' })
    t.equal(reader.get(id)?.outcome, 'unknown')
    await reader.close()
    await again.close()
    t.strictSame(faults, [])
  },
)

t.test(
  'a result too long for the write-ahead log is stored without the engine’s texts',
  async t => {
    const { wal, openStore, newId } = await open(t)
    const store = await openStore()
    const id = newId()
    const record = store.begin(id, PENDING)
    const long = { ...ACCEPTED, engine: { status: 200, words: 'x'.repeat(4_000) } }
    const stored = record?.end(long)
    const atKill = Uint8Array.from(wal)
    await stored
    t.strictSame(store.get(id), long)
    await store.close()
    wal.set(atKill)
    const other = await openStore('other')
    t.strictSame(other.get(id), { ...ACCEPTED, engine: null })
    await other.close()
  },
)

t.test('an ending that cannot be decoded is reported, and its submission is unknown', async t => {
  const { wal, openStore, newId, faults } = await open(t)
  const store = await openStore()
  const id = newId()
  const stored = store.begin(id, PENDING)?.end(ACCEPTED)
  const atKill = Uint8Array.from(wal)
  await stored
  await store.close()
  const endsAt = ENTRY_BYTES_MAX + 8
  t.equal(atKill[endsAt], 0xde, 'a map')
  // No value of msgpack, and one that is no map.
  for (const [nth, spoilt] of [0xc1, 0x05].entries()) {
    atKill[endsAt] = spoilt
    wal.set(atKill)
    const other = await openStore(`other-${nth}`)
    t.strictSame(other.get(id), { ...PENDING, outcome: 'unknown' })
    t.equal(faults.splice(0).length, 1)
    await other.close()
  }
})

t.test('a corrupt write-ahead log is reported, and the store opens', async t => {
  const { wal, openStore, newId, faults } = await open(t)
  wal.fill(0xff, 0, 4_096)
  new DataView(wal.buffer).setUint32(4_096, 100)
  const store = await openStore()
  t.equal(faults.length, 1, 'one report for each entry that cannot be decoded')
  await store.begin(newId(), PENDING)?.end(ACCEPTED)
  await store.close()
})

t.test('the oldest records of each table are removed above its bound', async t => {
  const bounds = { forwardedMax: 3, invalidMax: 2, pruneMs: 5 }
  const { clock, openStore, newId } = await open(t, bounds)
  const store = await openStore()
  const ids: Uint8Array[] = []
  for (let n = 0; n < 6; n++) {
    clock.ms++
    const id = newId()
    ids.push(id)
    if (n % 2 === 0) await store.begin(id, PENDING)?.end(ACCEPTED)
    else store.record(id, { ...PENDING, outcome: 'invalid' })
  }
  await until('the oldest is gone', () => ids[1] !== undefined && store.get(ids[1]) === undefined)
  t.strictSame(
    ids.map(id => store.get(id) !== undefined),
    [true, false, true, true, true, true],
  )
  clock.ms += defaults.ageMsMax + 1
  await until('the old ones are gone', () => store.stats().records === 0)
  await store.close()
})

t.test('a table that was written to is pruned before the next look at all tables', async t => {
  // All of them are looked at first, and then each 40 s.
  const { openStore, newId } = await open(t, { forwardedMax: 3, pruneMs: 1_000 })
  const store = await openStore()
  for (let n = 0; n < 6; n++) await store.begin(newId(), PENDING)?.end(ACCEPTED)
  await until('the oldest are gone', () => store.stats().records === 3)
  await store.close()
})

t.test('refused submissions are not recorded above their bounds', async t => {
  const invalid = { ...PENDING, outcome: 'invalid', checks: 'no' } as const
  const isKept = (store: { get(id: Uint8Array): unknown }, ids: readonly Uint8Array[]): number =>
    ids.filter(id => store.get(id) !== undefined).length

  const busy = await open(t, { bufferedMax: 10 })
  const waiting = await busy.openStore()
  const ids = Array.from({ length: 30 }, busy.newId)
  for (const id of ids) waiting.record(id, invalid)
  t.equal(isKept(waiting, ids), 10, 'no more wait for the disk')
  await waiting.close()

  const bounds = { invalidMax: 5, pruneMs: 100, pruneCountMax: 1 }
  const { openStore, newId } = await open(t, bounds, join(t.testdirName, 'flood'))
  const store = await openStore()
  const before = Array.from({ length: 40 }, newId)
  for (const id of before) store.record(id, invalid)
  await until('the oldest is deleted: they were counted', () => isKept(store, before) < 40)
  const after = Array.from({ length: 40 }, newId)
  for (const id of after) store.record(id, invalid)
  t.equal(isKept(store, after), 0, 'with so many over the bound no more are taken')
  t.equal(await store.begin(newId(), PENDING)?.end(ACCEPTED), true, 'but what is forwarded is')
  await store.close()
})

t.test('a submission that ends after the close is recovered from the write-ahead log', async t => {
  const { dir, openStore, newId, faults } = await open(t)
  const store = await openStore()
  const reader = new StoreReader(dir)
  const ids = [newId(), newId(), newId()] as const
  const records = ids.map(id => store.begin(id, PENDING))
  const stored = records[0]?.end(ACCEPTED)
  const closed = store.close()
  const amid = records[1]?.end(ACCEPTED)
  await closed
  await store.close()
  t.equal(await stored, true)
  t.equal(await amid, false)
  t.equal(await records[2]?.end(ACCEPTED), false)
  t.equal(store.begin(newId(), PENDING), undefined)
  store.record(newId(), { ...PENDING, outcome: 'invalid' })
  t.equal(store.get(ids[0]), undefined)
  t.equal(store.stats().records, 0, 'it may be asked when it is closed')
  t.strictSame(reader.get(ids[0]), ACCEPTED)
  await reader.close()
  t.equal(reader.get(ids[0]), undefined)
  // What lmdb would still do runs in a later turn.
  await new Promise(resolve => setTimeout(resolve, 20))
  const again = await openStore()
  t.strictSame(
    ids.map(id => again.get(id)),
    [ACCEPTED, ACCEPTED, ACCEPTED],
  )
  await again.close()
  t.strictSame(faults, [])
})

t.test('a store that does not exist, or is incomplete, is empty', async t => {
  const dir = t.testdir({
    0: {},
    1: { sender: {} },
    2: { sender: { 'submissions-2': {} } },
    3: { sender: { 'submissions-2': { 'data.mdb': '' } } },
  })
  for (const nth of [0, 1, 2, 3, 4]) {
    const reader = new StoreReader(join(dir, String(nth)))
    t.equal(reader.get(createIds(() => NOW_MS)()), undefined)
    await reader.close()
  }
})

t.test(
  'a full disk stops no submission and ends no process, and stored records remain',
  async t => {
    const dir = t.testdir()
    const said = await runOnFullDisk('test/fixtures/submission/store-full-disk', dir)
    const { stored, lost, faults, inFlight } = v.parse(FullDisk, said)
    t.ok(stored.length > 50)
    t.equal(lost.length, 21)
    t.equal(faults, lost.length)
    t.equal(inFlight, 0, 'each slot of the write-ahead log is free again')

    const { openStore, newId, clock, faults: later } = await open(t, {}, dir)
    // Theirs, by which nothing is too old yet.
    clock.ms = Date.now()
    const store = await openStore()
    const outcomeOf = (id: string) => store.get(parseId(id) ?? Buffer.alloc(16))?.outcome
    t.strictSame(new Set(stored.map(outcomeOf)), new Set(['accepted']))
    t.strictSame(new Set(lost.map(outcomeOf)), new Set([undefined]))
    const record = store.begin(newId(), PENDING)
    t.equal(await record?.end(ACCEPTED), true, 'with free space it continues')
    await store.close()
    t.strictSame(later, [])
  },
)
