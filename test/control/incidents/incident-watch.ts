import t, { type Test } from 'tap'
import { openControlStore } from '../../../src/access/store/control-store.js'
import { createIncidents } from '../../../src/control/incidents/incident-store.js'
import {
  createIncidentWatch,
  type Observed,
} from '../../../src/control/incidents/incident-watch.js'
import { defaults } from '../../../src/dashboard/options.js'
import { ownDir } from '../../fixtures/own-dir.js'

const START_MS = 1_700_000_000_000
const { incidentMinMs, incidentQuietMs, incidentStartMs } = defaults
const DAY_MS = 86_400_000

const setUp = (t: Test, options: Partial<typeof defaults> = {}) => {
  const clock = { nowMs: START_MS }
  const now = (): number => clock.nowMs
  const store = openControlStore(ownDir(t))
  t.teardown(() => store.close())
  const all = { ...defaults, ...options }
  const incidents = createIncidents({ store, options: all, now })
  let states: readonly Observed[] = []
  const restart = () =>
    createIncidentWatch({
      incidents,
      observe: () => states,
      options: all,
      now,
      countMax: all.incidentsMax,
    })
  let watch = restart()
  const list = () => incidents.list({ limit: 1_000 })
  return {
    clock,
    incidents,
    list,
    restart: () => {
      watch = restart()
    },
    /** The state of a location, or of a machine, for some time. */
    see: async (state: string, ms: number, machine: string | null = null): Promise<void> => {
      states = [{ location: 'fra', machine, state }]
      for (let passed = 0; passed < ms; passed += 500) {
        await watch.check()
        clock.nowMs += 500
      }
    },
    leave: async (): Promise<void> => {
      states = []
      await watch.check()
    },
  }
}

t.test('an incident has its begin, its end and its reasons', async t => {
  const { see, list, clock } = setUp(t)
  await see('ok', 10_000)
  t.strictSame(list(), [])
  const beganMs = clock.nowMs
  await see('behind', incidentMinMs)
  t.strictSame(list(), [], 'too short so far')
  await see('behind', 500)
  t.match(list(), [
    { location: 'fra', machine: null, reasons: ['behind'], startedAtMs: beganMs, endedAtMs: null },
  ])
  await see('incomplete', 3_000)
  await see('behind', 1_000)
  t.match(list(), [{ reasons: ['behind', 'incomplete'], endedAtMs: null }], 'each once')
  await see('ok', incidentQuietMs / 2)
  await see('behind', 1_000)
  t.match(list(), [{ endedAtMs: null }], 'it was back for too short a time')
  const servedMs = clock.nowMs
  await see('ok', incidentQuietMs + 500)
  t.match(list(), [{ startedAtMs: beganMs, endedAtMs: servedMs }])
  t.equal(list().length, 1)

  await see('draining', incidentMinMs + 500)
  await see('ok', incidentQuietMs + 500)
  t.match(list(), [{ reasons: ['draining'] }, { reasons: ['behind', 'incomplete'] }])
})

t.test('a moment is no incident', async t => {
  const { see, list } = setUp(t)
  await see('ok', 1_000)
  for (let count = 0; count < 5; count++) {
    await see('behind', incidentMinMs - 500)
    await see('ok', 500)
  }
  t.strictSame(list(), [])
})

t.test('a start is no incident, unless it takes too long', async t => {
  const quick = setUp(t)
  await quick.see('unknown', incidentStartMs - 500)
  await quick.see('ok', 1_000)
  t.strictSame(quick.list(), [])
  const slow = setUp(t)
  await slow.see('incomplete', incidentStartMs + incidentMinMs + 1_000)
  t.match(slow.list(), [{ reasons: ['incomplete'], startedAtMs: START_MS + incidentStartMs }])
})

t.test('an incident lasts over a restart of control', async t => {
  const { see, list, restart, clock } = setUp(t)
  await see('ok', 1_000, 'fra-1')
  const beganMs = clock.nowMs
  await see('lease-expired', incidentMinMs + 500, 'fra-1')
  await see('lease-expired', 500, 'fra-1')
  const before = list()
  restart()
  clock.nowMs += 10_000
  await see('lease-expired', 1_000, 'fra-1')
  t.strictSame(list(), before)
  const servedMs = clock.nowMs
  await see('ok', incidentQuietMs + 500, 'fra-1')
  t.match(list(), [{ machine: 'fra-1', startedAtMs: beganMs, endedAtMs: servedMs }])
})

t.test('an incident ends with its machine, and one that never ran has none', async t => {
  const { see, list, leave, clock } = setUp(t)
  await see('not-started', incidentStartMs * 2, 'fra-9')
  t.strictSame(list(), [])
  await see('ok', 1_000, 'fra-1')
  await see('unreachable', incidentMinMs + 1_000, 'fra-1')
  t.match(list(), [{ machine: 'fra-1', reasons: ['unreachable'], endedAtMs: null }])
  await leave()
  t.match(list(), [{ endedAtMs: clock.nowMs }])
})

t.test('incidents are bounded by number and age', async t => {
  const { incidents, list, clock } = setUp(t, { incidentsMax: 5, incidentDaysMax: 10 })
  const record = (atMs: number, endedAtMs: number | null = atMs + 1) => ({
    location: 'fra',
    machine: null,
    reasons: ['behind'],
    detail: '',
    startedAtMs: atMs,
    endedAtMs,
  })
  for (let count = 0; count < 8; count++) await incidents.add(record(START_MS + (count >> 1)))
  t.strictSame(
    list().map(({ startedAtMs }) => startedAtMs - START_MS),
    [3, 3, 2, 2, 1],
    'the newest, also of one millisecond',
  )
  clock.nowMs += 10 * DAY_MS + 5
  await incidents.add(record(clock.nowMs))
  t.equal(list().length, 1, 'the others are too old')
  const page = incidents.list({ limit: 1, before: list()[0]?.id })
  t.strictSame(page, [])
  await incidents.add({ ...record(clock.nowMs + 1), location: 'nyc' })
  await incidents.add({ ...record(clock.nowMs + 2), location: null })
  const of = (locations: readonly string[]) =>
    incidents.list({ locations, limit: 9 }).map(({ location }) => location)
  t.strictSame(of(['nyc']), ['nyc'])
  t.strictSame(of(['nyc', 'fra']), ['nyc', 'fra'], 'newest first, without those of no location')
  t.strictSame(of([]), [])
})
