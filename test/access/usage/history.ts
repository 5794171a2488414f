import { appendFileSync, existsSync, rmSync, statSync, truncateSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { NumberReader, NumberWriter } from '../../../src/access/usage/history-bytes.js'
import { GRAIN_MS, readHistory, type Grain } from '../../../src/access/usage/history-reader.js'
import {
  DAY_MS,
  fileOf,
  historyPath,
  HOUR_MS,
  MINUTE_MS,
  usagePath,
  type Place,
} from '../../../src/access/usage/layout.js'
import { NO_METHOD } from '../../../src/access/usage/meter.js'
import { defaults, type Options } from '../../../src/access/usage/options.js'
import { openUsage, type Usage } from '../../../src/access/usage/usage.js'
import { NOW_MS } from '../../fixtures/access/access.js'

const placeOf = (accessId: string): Place => ({ accessId, network: 'main', location: 'fra' })
const PLACE = placeOf('acc_1')
const SETTLED_MS = 10 * MINUTE_MS

type Opened = { readonly edge?: number; readonly options?: Partial<Options>; nowMs?: number }

const open = (dir: string, { edge = 0, options = {}, nowMs = NOW_MS }: Opened = {}): Usage =>
  openUsage(dir, edge, {
    options: { ...defaults, ...options },
    now: () => nowMs,
    onFault: fault => {
      throw fault
    },
  })

/** Requests by the time of their period after `NOW_MS`, in its grain. */
const read = (
  dir: string,
  grain: Grain,
  { fromMs = 0, untilMs = Number.MAX_SAFE_INTEGER, place = PLACE } = {},
) =>
  readHistory(dir, place, { grain, fromMs, untilMs }).periods.map(({ startMs, requests }) => [
    (startMs - NOW_MS) / GRAIN_MS[grain],
    requests,
  ])

t.test('30 days can be read by minute, hour and day', async t => {
  const dir = t.testdir()
  const usage = open(dir)
  const expected = new Map<Grain, Map<number, number>>()
  for (let hour = 0; hour < 30 * 24; hour++) {
    for (const minute of [0, 7, 59]) {
      const atMs = NOW_MS + hour * HOUR_MS + minute * MINUTE_MS
      usage.meterOf(PLACE).addRequests(hour + minute + 1, atMs)
      for (const grain of ['minute', 'hour', 'day'] as const) {
        const sums = expected.get(grain) ?? new Map<number, number>()
        const period = Math.floor((atMs - NOW_MS) / GRAIN_MS[grain])
        expected.set(grain, sums.set(period, (sums.get(period) ?? 0) + hour + minute + 1))
      }
    }
    await usage.sweep(NOW_MS + (hour + 1) * HOUR_MS + SETTLED_MS)
  }
  for (const [grain, sums] of expected) t.strictSame(read(dir, grain), [...sums], grain)
  const range = { fromMs: NOW_MS + 3 * DAY_MS, untilMs: NOW_MS + 3 * DAY_MS + 2 * HOUR_MS }
  t.strictSame(read(dir, 'minute', range), [
    [4_320, 73],
    [4_327, 80],
    [4_379, 132],
    [4_380, 74],
    [4_387, 81],
    [4_439, 133],
  ])
  const bytes = statSync(join(historyPath(dir, 0), fileOf(PLACE))).size
  t.ok(bytes < 32 * 1024, `${bytes} bytes`)
})

t.test('every count is kept, and counts of edges are added', async t => {
  const dir = t.testdir()
  for (const edge of [0, 1]) {
    const usage = open(dir, { edge })
    const meter = usage.meterOf(PLACE)
    meter.addRequests(5, NOW_MS)
    meter.addCall('getSlot', { failure: { code: -32_602 } }, NOW_MS)
    meter.addRateLimited(NO_METHOD, NOW_MS)
    usage.addRefused('address', { place: PLACE }, '8.8.8.8', NOW_MS)
    await usage.sweep(NOW_MS + HOUR_MS + SETTLED_MS)
    // Removes the minutes of a day ago.
    meter.addRequests(1, NOW_MS + 3 * DAY_MS)
  }
  const sum = { requests: 10, errors: 2, rateLimited: 2, refused: 2 }
  for (const grain of ['minute', 'hour', 'day'] as const)
    t.match(
      readHistory(dir, PLACE, { grain, fromMs: NOW_MS, untilMs: NOW_MS + DAY_MS }).periods,
      [{ startMs: NOW_MS, ...sum }],
      grain,
    )
})

t.test('nothing is lost or counted twice, whenever an edge is killed', async t => {
  type Step = { readonly minutes: number; readonly count: number; readonly next: string }
  const step: fc.Arbitrary<Step> = fc.record({
    minutes: fc.integer({ min: 0, max: 1_500 }),
    count: fc.integer({ min: 1, max: 1_000 }),
    next: fc.constantFrom('nothing', 'sweep', 'kill', 'kill', 'evict', 'remove'),
  })
  const play = async (steps: readonly Step[]): Promise<boolean> => {
    const dir = t.testdir()
    let nowMs = NOW_MS
    const options = { tokensMax: 1, filesMax: 1 }
    let usage = open(dir, { options, nowMs })
    let total = 0
    for (const { minutes, count, next } of steps) {
      nowMs += minutes * MINUTE_MS
      if (minutes > 60) await usage.sweep(nowMs)
      usage.meterOf(PLACE).addRequests(count, nowMs)
      total += count
      if (next === 'sweep') await usage.sweep(nowMs)
      // Nothing was closed: this is the state after a kill.
      if (next === 'kill') usage = open(dir, { options, nowMs })
      if (next === 'evict') usage.meterOf(placeOf('acc_2')).addRequests(1, nowMs)
      if (next === 'remove') await usage.sweep(nowMs + 2 * DAY_MS)
    }
    for (const grain of ['minute', 'hour', 'day'] as const)
      if (read(dir, grain).reduce((sum, [, count = 0]) => sum + count, 0) !== total) return false
    rmSync(dir, { recursive: true })
    return true
  }
  await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 12 }), play), { numRuns: 60 })
})

t.test('after days without an edge the minutes before them are kept', async t => {
  const dir = t.testdir()
  open(dir).meterOf(PLACE).addRequests(3, NOW_MS)
  const nowMs = NOW_MS + 2 * DAY_MS
  open(dir, { nowMs }).meterOf(PLACE).addRequests(4, nowMs)
  t.strictSame(read(dir, 'minute'), [
    [0, 3],
    [2_880, 4],
  ])
})

t.test('over the bound of bytes the oldest minutes become hours, then hours go', async t => {
  const dir = t.testdir()
  const usage = open(dir, { options: { historyBytesMax: 16 * 1024 } })
  const meter = usage.meterOf(PLACE)
  const path = join(historyPath(dir, 0), fileOf(PLACE))
  for (let hour = 0; hour < 300; hour++) {
    for (let minute = 0; minute < 60; minute++)
      meter.addRequests(100, NOW_MS + hour * HOUR_MS + minute * MINUTE_MS)
    await usage.sweep(NOW_MS + (hour + 1) * HOUR_MS + SETTLED_MS)
    if (statSync(path).size > 16 * 1024) t.fail(`${statSync(path).size} bytes`)
  }
  t.strictSame(
    read(dir, 'hour'),
    Array.from({ length: 300 }, (_, hour) => [hour, 6_000]),
    'each hour is known',
  )
  const all = { grain: 'minute', fromMs: 0, untilMs: Number.MAX_SAFE_INTEGER } as const
  const { periods, minutesFromMs } = readHistory(dir, PLACE, all)
  t.equal(periods[0]?.startMs, minutesFromMs)
  const keptHours = periods.length / 60
  t.ok(keptHours >= 60 && keptHours < 200, `minutes of ${keptHours} hours`)
})

t.test(
  'hours that are older than is kept are removed, and histories without newer ones',
  async t => {
    const dir = t.testdir()
    const usage = open(dir, { options: { historyDaysMax: 2 } })
    const path = historyPath(dir, 0)
    for (const accessId of ['acc_1', 'acc_2'])
      usage.meterOf(placeOf(accessId)).addRequests(1, NOW_MS)
    await usage.sweep(NOW_MS + HOUR_MS + SETTLED_MS)
    t.ok(existsSync(join(path, fileOf(placeOf('acc_2')))))
    for (let day = 1; day < 6; day++) {
      usage.meterOf(PLACE).addRequests(1, NOW_MS + day * DAY_MS)
      await usage.sweep(NOW_MS + day * DAY_MS + HOUR_MS + SETTLED_MS)
    }
    t.strictSame(read(dir, 'day').slice(-3), [
      [3, 1],
      [4, 1],
      [5, 1],
    ])
    t.notOk(read(dir, 'day').some(([day = 0]) => day < 2))
    t.notOk(existsSync(join(path, fileOf(placeOf('acc_2')))))
    t.ok(existsSync(join(path, fileOf(PLACE))))
  },
)

t.test('all histories of an edge have a bound, and the oldest one goes first', async t => {
  const dir = t.testdir()
  const options = { historyTotalBytesMax: 64 }
  const usage = open(dir, { options })
  for (const accessId of ['acc_1', 'acc_2', 'acc_3'])
    usage.meterOf(placeOf(accessId)).addRequests(1, NOW_MS)
  const path = (accessId: string): string => join(historyPath(dir, 0), fileOf(placeOf(accessId)))
  await usage.sweep(NOW_MS + 30 * MINUTE_MS)
  t.notOk(existsSync(path('acc_1')), 'the hour is not over')
  const wide = open(dir)
  await wide.sweep(NOW_MS + HOUR_MS + SETTLED_MS)
  for (const [accessId, atMs] of [
    ['acc_1', NOW_MS + 1_000],
    ['acc_2', NOW_MS],
    ['acc_3', NOW_MS + 2_000],
  ] as const)
    utimesSync(path(accessId), atMs / 1_000, atMs / 1_000)
  await open(dir, { options }).sweep(NOW_MS + HOUR_MS + SETTLED_MS)
  t.strictSame(
    ['acc_1', 'acc_2', 'acc_3'].map(accessId => existsSync(path(accessId))),
    [true, false, true],
  )
})

t.test('an incomplete record at the end of a history is removed before the next one', async t => {
  const dir = t.testdir()
  const usage = open(dir)
  const path = join(historyPath(dir, 0), fileOf(PLACE))
  for (let hour = 0; hour < 3; hour++) {
    usage.meterOf(PLACE).addRequests(hour + 1, NOW_MS + hour * HOUR_MS)
    await usage.sweep(NOW_MS + (hour + 1) * HOUR_MS + SETTLED_MS)
  }
  usage.meterOf(PLACE).addRequests(1, NOW_MS + 3 * DAY_MS)
  const all = read(dir, 'hour')
  t.equal(all.length, 4)
  truncateSync(path, statSync(path).size - 1)
  t.strictSame(read(dir, 'hour'), all.toSpliced(2, 1), 'what is whole is read')
  appendFileSync(path, Buffer.alloc(5))
  await open(dir).sweep(NOW_MS + 3 * DAY_MS + HOUR_MS + SETTLED_MS)
  usage.meterOf(PLACE).addRequests(1, NOW_MS + 6 * DAY_MS)
  t.equal(read(dir, 'hour').length, 4, 'the next one can be read')
})

t.test('a file of an older build gets a history', async t => {
  const dir = t.testdir()
  open(dir).meterOf(PLACE).addRequests(3, NOW_MS)
  const path = join(usagePath(dir, 0), fileOf(PLACE))
  truncateSync(path, statSync(path).size - 16)
  t.strictSame(read(dir, 'hour'), [[0, 3]], 'read as it is')
  await open(dir).sweep(NOW_MS + HOUR_MS + SETTLED_MS)
  t.strictSame(read(dir, 'hour'), [[0, 3]])
  rmSync(path)
  t.strictSame(read(dir, 'hour'), [[0, 3]])
})

t.test('numbers and texts are what was written', t => {
  const number = fc.oneof(fc.constant(0), fc.nat(300), fc.maxSafeNat())
  fc.assert(
    fc.property(fc.array(fc.array(number, { maxLength: 90 })), fc.string(), (lists, text) => {
      const latin = Buffer.from(text, 'latin1').toString('latin1')
      const writer = new NumberWriter()
      for (const list of lists) writer.addCounts(list)
      writer.addText(latin)
      const reader = new NumberReader(writer.toBuffer())
      for (const list of lists) t.strictSame(reader.nextCounts(list.length), list)
      t.equal(reader.nextText(), latin)
      t.ok(reader.isAtEnd)
    }),
  )
  t.end()
})
