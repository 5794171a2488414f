import { spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import * as v from 'valibot'
import { sharedCells } from '../../../src/native/os.js'
import { BEGUN_BYTES_MAX } from '../../../src/submission/store/write-ahead-log.js'
import { defaults, type Options } from '../../../src/submission/store/options.js'
import {
  edgePath,
  journalBytes,
  openLedger,
  openLedgers,
} from '../../../src/submission/store/submission-store.js'
import { createIds, formatId, parseId } from '../../../src/submission/store/submission-id.js'
import { runOnFullDisk } from '../../fixtures/full-disk.js'
import { ACCEPTED, PENDING } from '../../fixtures/submission/submission.js'
import { until } from '../../fixtures/until.js'

/** What fixtures/submission/ledger-full-disk.ts prints. */
const FullDisk = v.object({
  stored: v.array(v.string()),
  lost: v.array(v.string()),
  faults: v.number(),
  inFlight: v.number(),
})

const NOW_MS = 1_900_000_000_000

const open = async (t: Test, given: Partial<Options> = {}, dir = t.testdir()) => {
  const options = { ...defaults, ...given }
  const clock = { ms: NOW_MS }
  const journal = new Uint8Array(journalBytes(options))
  const faults: unknown[] = []
  const modules = { journal, now: () => clock.ms, onFault: (fault: unknown) => faults.push(fault) }
  const openEdge = (edge: number) => openLedger(edgePath(dir, edge), modules, options)
  return { dir, clock, journal, faults, options, openEdge, newId: createIds(() => clock.ms) }
}

t.test('a submission is known at once, and at every edge when it is stored', async t => {
  const { dir, openEdge, newId, faults } = await open(t)
  const ledger = await openEdge(0)
  const ledgers = openLedgers(dir, 1)
  const id = newId()
  t.equal(ledgers.find(id), undefined)
  const flight = ledger.begin(id, PENDING)
  t.strictSame(ledger.get(id), PENDING)
  t.equal(ledger.stats().inFlight, 1)
  const stored = flight?.end(ACCEPTED)
  t.strictSame(ledger.get(id), ACCEPTED)
  t.equal(await stored, true)
  t.strictSame(ledger.get(id), ACCEPTED)
  t.strictSame(ledgers.get(0, id), ACCEPTED)
  t.strictSame(ledgers.find(id), ACCEPTED)
  t.equal(openLedgers(dir, 0).find(id), undefined, 'an edge does not look for its own there')
  t.equal(ledgers.find(newId()), undefined)
  t.equal(ledger.stats().inFlight, 0)
  t.equal(ledger.stats().records, 1)
  await ledgers.close()
  await ledger.close()
  t.strictSame(faults, [])
})

t.test('a flight that takes long is shown by other edges while it lasts', async t => {
  const { dir, openEdge, newId, faults } = await open(t, { pendingMs: 5 })
  const ledger = await openEdge(0)
  const ledgers = openLedgers(dir, 1)
  const id = newId()
  const flight = ledger.begin(id, PENDING)
  await until('it is stored', () => ledgers.find(id) !== undefined)
  t.strictSame(ledgers.find(id), PENDING)
  t.strictSame(ledger.get(id), PENDING)
  t.equal(await flight?.end(ACCEPTED), true)
  t.strictSame(ledgers.find(id), ACCEPTED)
  await ledgers.close()
  await ledger.close()
  t.strictSame(faults, [])
})

t.test('what a check refused is kept beside what was forwarded', async t => {
  const { openEdge, newId } = await open(t)
  const ledger = await openEdge(0)
  const id = newId()
  const invalid = { ...PENDING, outcome: 'invalid', checks: 'no', forwardedAtMs: null } as const
  ledger.record(id, invalid)
  t.strictSame(ledger.get(id), invalid)
  await until('it is stored', () => ledger.stats().records === 1)
  t.strictSame(ledger.get(id), invalid)
  await ledger.close()
})

t.test('one more in flight than there may be is refused', async t => {
  const { openEdge, newId } = await open(t, { inFlightMax: 2 })
  const ledger = await openEdge(0)
  const flights = [1, 2, 3].map(() => ledger.begin(newId(), PENDING))
  t.strictSame(
    flights.map(flight => flight !== undefined),
    [true, true, false],
  )
  await flights[0]?.end(ACCEPTED)
  t.ok(ledger.begin(newId(), PENDING))
  await ledger.close()
})

t.test('what an earlier life left in flight is unknown, and what had ended stays so', async t => {
  const { dir, journal, openEdge, newId, faults } = await open(t)
  const first = await openEdge(0)
  const [left, stored] = [newId(), newId()]
  first.begin(left, PENDING)
  const ended = first.begin(stored, PENDING)?.end(ACCEPTED)
  const atDeath = Uint8Array.from(journal)
  await ended
  await first.close()

  journal.set(atDeath)
  const again = await openEdge(0)
  t.strictSame(again.get(left), { ...PENDING, outcome: 'unknown' })
  t.strictSame(again.get(stored), ACCEPTED)
  t.equal(again.stats().inFlight, 0)
  const ledgers = openLedgers(dir, undefined)
  t.equal(ledgers.find(left)?.outcome, 'unknown')
  await ledgers.close()
  await again.close()

  journal.set(atDeath)
  const other = await openEdge(1)
  t.strictSame(other.get(left), { ...PENDING, outcome: 'unknown' }, 'also what never reached it')
  t.strictSame(other.get(stored), ACCEPTED)
  await other.close()
  t.strictSame(faults, [])
})

t.test(
  'what was shown as pending when its edge died is unknown from the next start on',
  async t => {
    const { dir, journal, openEdge, newId, faults } = await open(t, { pendingMs: 5 })
    const first = await openEdge(0)
    const ledgers = openLedgers(dir, 1)
    const id = newId()
    first.begin(id, PENDING)
    await until('others see it', () => ledgers.find(id)?.outcome === 'pending')
    const atDeath = Uint8Array.from(journal)
    await first.close()
    journal.set(atDeath)
    const again = await openEdge(0)
    t.strictSame(again.get(id), { ...PENDING, outcome: 'unknown' })
    t.equal(ledgers.find(id)?.outcome, 'unknown')
    await ledgers.close()
    await again.close()
    t.strictSame(faults, [])
  },
)

t.test('words too long for the journal are left out of it, not the end', async t => {
  const { journal, openEdge, newId } = await open(t)
  const ledger = await openEdge(0)
  const id = newId()
  const flight = ledger.begin(id, PENDING)
  const long = { ...ACCEPTED, engine: { status: 200, words: 'x'.repeat(4_000) } }
  const stored = flight?.end(long)
  const atDeath = Uint8Array.from(journal)
  await stored
  t.strictSame(ledger.get(id), long)
  await ledger.close()
  journal.set(atDeath)
  const other = await openEdge(1)
  t.strictSame(other.get(id), { ...ACCEPTED, engine: null })
  await other.close()
})

t.test('an end that cannot be read is told, and its submission unknown', async t => {
  const { journal, openEdge, newId, faults } = await open(t)
  const ledger = await openEdge(0)
  const id = newId()
  const stored = ledger.begin(id, PENDING)?.end(ACCEPTED)
  const atDeath = Uint8Array.from(journal)
  await stored
  await ledger.close()
  const endsAt = BEGUN_BYTES_MAX + 8
  t.equal(atDeath[endsAt], 0xde, 'a map')
  // No value of msgpack, and one that is no map.
  for (const [nth, spoilt] of [0xc1, 0x05].entries()) {
    atDeath[endsAt] = spoilt
    journal.set(atDeath)
    const other = await openEdge(1 + nth)
    t.strictSame(other.get(id), { ...PENDING, outcome: 'unknown' })
    t.equal(faults.splice(0).length, 1)
    await other.close()
  }
})

t.test('a journal of nonsense stops nothing', async t => {
  const { journal, openEdge, newId, faults } = await open(t)
  journal.fill(0xff, 0, 4_096)
  new DataView(journal.buffer).setUint32(4_096, 100)
  const ledger = await openEdge(0)
  t.equal(faults.length, 1, 'it is told once for each entry that cannot be read')
  await ledger.begin(newId(), PENDING)?.end(ACCEPTED)
  await ledger.close()
})

t.test('the oldest go when there are too many, of each table apart', async t => {
  const bounds = { forwardedMax: 3, invalidMax: 2, pruneMs: 5 }
  const { clock, openEdge, newId } = await open(t, bounds)
  const ledger = await openEdge(0)
  const ids: Uint8Array[] = []
  for (let n = 0; n < 6; n++) {
    clock.ms++
    const id = newId()
    ids.push(id)
    if (n % 2 === 0) await ledger.begin(id, PENDING)?.end(ACCEPTED)
    else ledger.record(id, { ...PENDING, outcome: 'invalid' })
  }
  await until('the oldest is gone', () => ids[1] !== undefined && ledger.get(ids[1]) === undefined)
  t.strictSame(
    ids.map(id => ledger.get(id) !== undefined),
    [true, false, true, true, true, true],
  )
  clock.ms += defaults.ageMsMax + 1
  await until('the old ones are gone', () => ledger.stats().records === 0)
  await ledger.close()
})

t.test('a flood of what checks refuse is not kept beyond its bounds', async t => {
  const invalid = { ...PENDING, outcome: 'invalid', checks: 'no' } as const
  const isKept = (ledger: { get(id: Uint8Array): unknown }, ids: readonly Uint8Array[]): number =>
    ids.filter(id => ledger.get(id) !== undefined).length

  const busy = await open(t, { waitingMax: 10 })
  const waiting = await busy.openEdge(0)
  const ids = Array.from({ length: 30 }, busy.newId)
  for (const id of ids) waiting.record(id, invalid)
  t.equal(isKept(waiting, ids), 10, 'no more wait for the disk')
  await waiting.close()

  const bounds = { invalidMax: 5, pruneMs: 100, pruneCountMax: 1 }
  const { openEdge, newId } = await open(t, bounds, join(t.testdirName, 'flood'))
  const ledger = await openEdge(0)
  const before = Array.from({ length: 40 }, newId)
  for (const id of before) ledger.record(id, invalid)
  await until('the oldest goes: they were counted', () => isKept(ledger, before) < 40)
  const after = Array.from({ length: 40 }, newId)
  for (const id of after) ledger.record(id, invalid)
  t.equal(isKept(ledger, after), 0, 'with so many over the bound no more are taken')
  t.equal(await ledger.begin(newId(), PENDING)?.end(ACCEPTED), true, 'but what is forwarded is')
  await ledger.close()
})

t.test('the newest of an access, whichever edge and table has them', async t => {
  const { dir, openEdge, newId, clock } = await open(t)
  const edges = [await openEdge(0), await openEdge(1)]
  const ledgers = openLedgers(dir, undefined, { ...defaults, recentMax: 4 })
  const mine: string[] = []
  const keep = (edge: number, accessId: string, outcome: 'accepted' | 'invalid'): void => {
    clock.ms += 1
    const id = newId()
    edges[edge]?.record(id, { ...ACCEPTED, accessId, outcome })
    if (accessId === 'acc_mine') mine.unshift(formatId(id))
  }
  keep(0, 'acc_mine', 'accepted')
  keep(1, 'acc_mine', 'invalid')
  keep(0, 'acc_other', 'accepted')
  keep(1, 'acc_mine', 'accepted')
  keep(0, 'acc_mine', 'accepted')
  const list = (countMax: number): string[] =>
    ledgers.recent('acc_mine', countMax).map(({ id }) => formatId(id))
  await until('all are stored', () => list(9).length === 4)
  t.strictSame(list(9), mine)
  t.strictSame(list(2), mine.slice(0, 2))
  t.match(ledgers.recent('acc_mine', 1)[0]?.submission, { accessId: 'acc_mine' })
  t.strictSame(ledgers.recent('acc_nobody', 9), [])
  for (let count = 0; count < 4; count++) keep(0, 'acc_other', 'accepted')
  await until('they are stored', () => edges[0]?.stats().records === 7)
  t.strictSame(list(9), mine.slice(1, 3), 'no further than it may look')
  await ledgers.close()
  for (const edge of edges) await edge.close()
  t.strictSame(ledgers.recent('acc_mine', 9), [], 'closed')
})

t.test('what ends after the close is kept by the journal, and ends nothing else', async t => {
  const { dir, openEdge, newId, faults } = await open(t)
  const ledger = await openEdge(0)
  const ledgers = openLedgers(dir, 1)
  const ids = [newId(), newId(), newId()] as const
  const flights = ids.map(id => ledger.begin(id, PENDING))
  const stored = flights[0]?.end(ACCEPTED)
  const closed = ledger.close()
  const amid = flights[1]?.end(ACCEPTED)
  await closed
  await ledger.close()
  t.equal(await stored, true)
  t.equal(await amid, false)
  t.equal(await flights[2]?.end(ACCEPTED), false)
  t.equal(ledger.begin(newId(), PENDING), undefined)
  ledger.record(newId(), { ...PENDING, outcome: 'invalid' })
  t.equal(ledger.get(ids[0]), undefined)
  t.equal(ledger.stats().records, 0, 'it may be asked when it is closed')
  t.strictSame(ledgers.find(ids[0]), ACCEPTED)
  await ledgers.close()
  t.equal(ledgers.find(ids[0]), undefined)
  // Whatever lmdb would still do comes in a turn of its own.
  await new Promise(resolve => setTimeout(resolve, 20))
  const again = await openEdge(0)
  t.strictSame(
    ids.map(id => again.get(id)),
    [ACCEPTED, ACCEPTED, ACCEPTED],
  )
  await again.close()
  t.strictSame(faults, [])
})

t.test('a ledger that is not there, or only begun, is empty', async t => {
  const dir = t.testdir({
    edges: {
      3: {},
      4: { 'submissions-1': {} },
      5: { 'submissions-1': { 'data.mdb': '' } },
      claims: '',
    },
  })
  const ledgers = openLedgers(dir, 0)
  t.equal(ledgers.find(createIds(() => NOW_MS)()), undefined)
  t.equal(openLedgers(`${dir}/none`, 0).find(createIds(() => NOW_MS)()), undefined)
  await ledgers.close()
})

t.test('an edge that is killed has told of everything it had begun', async t => {
  const dir = t.testdir()
  const script = fileURLToPath(
    new URL('../../fixtures/submission/ledger-writer.ts', import.meta.url),
  )
  const begun: string[] = []
  const ended = new Set<string>()
  for (const lines of [1, 30, 200]) {
    const writer = spawn(process.execPath, [...process.execArgv, script, dir], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let text = ''
    let count = 0
    writer.stdout.setEncoding('utf8')
    for await (const chunk of writer.stdout) {
      text += String(chunk)
      const whole = text.split('\n')
      text = whole.pop() ?? ''
      for (const line of whole) {
        const [step, id = ''] = line.split(' ')
        if (step === 'begun') begun.push(id)
        if (step === 'ended') ended.add(id)
        count++
      }
      if (count > lines) writer.kill('SIGKILL')
    }
  }
  t.ok(begun.length > 100)

  mkdirSync(edgePath(dir, 0), { recursive: true })
  const cells = sharedCells(join(edgePath(dir, 0), 'journal'), journalBytes(defaults) / 8)
  const journal = new Uint8Array(cells.buffer, cells.byteOffset, cells.byteLength)
  const onFault = (fault: unknown) => t.fail(String(fault))
  const ledger = await openLedger(edgePath(dir, 0), { journal, now: Date.now, onFault })
  const outcomes = begun.map(text => {
    const id = parseId(text)
    return [text, id && ledger.get(id)?.outcome]
  })
  t.strictSame(
    outcomes.filter(([, outcome]) => outcome !== 'accepted' && outcome !== 'unknown'),
    [],
  )
  t.strictSame(
    outcomes.filter(([id, outcome]) => ended.has(id ?? '') && outcome !== 'accepted'),
    [],
  )
  await ledger.close()
})

t.test('a full disk stops no submission and ends no edge, and what was stored stays', async t => {
  const dir = t.testdir()
  const said = await runOnFullDisk('submission/ledger-full-disk.ts', dir)
  const { stored, lost, faults, inFlight } = v.parse(FullDisk, said)
  t.ok(stored.length > 50)
  t.equal(lost.length, 21)
  t.equal(faults, lost.length)
  t.equal(inFlight, 0, 'each place in the journal is free again')

  const { openEdge, newId, clock, faults: later } = await open(t, {}, dir)
  // Theirs, by which nothing is too old yet.
  clock.ms = Date.now()
  const ledger = await openEdge(0)
  const outcomeOf = (id: string) => ledger.get(parseId(id) ?? Buffer.alloc(16))?.outcome
  t.strictSame(new Set(stored.map(outcomeOf)), new Set(['accepted']))
  t.strictSame(new Set(lost.map(outcomeOf)), new Set([undefined]))
  const flight = ledger.begin(newId(), PENDING)
  t.equal(await flight?.end(ACCEPTED), true, 'with room again it goes on')
  await ledger.close()
  t.strictSame(later, [])
})
