import t from 'tap'
import type { PeriodQuery } from '../../src/dashboard/api/usage.js'
import { NO_METHOD } from '../../src/usage/calls.js'
import { DAY_MS, HOUR_MS, MINUTE_MS, type TokenScope } from '../../src/usage/scope.js'
import { defaults } from '../../src/usage/options.js'
import { UsageWriter } from '../../src/usage/store.js'
import { NOW_MS } from '../fixtures/access/access.js'
import { openUsage, usageIn } from '../fixtures/usage/usage.js'

const scopeOf = (accessId: string): TokenScope => ({ accessId, network: 'main', location: 'fra' })
const SCOPE = scopeOf('acc_1')
const GRAIN_MS = { minute: MINUTE_MS, hour: HOUR_MS, day: DAY_MS } as const
type Grain = PeriodQuery['grain']

const readPeriods = (dir: string, query: PeriodQuery, scope = SCOPE) =>
  usageIn(dir, Date.now).ofPeriods(scope, query)

/** Requests by the time of their period after `NOW_MS`, in its grain. */
const read = async (dir: string, grain: Grain, { fromMs = 0, untilMs = NOW_MS * 2 } = {}) =>
  (await readPeriods(dir, { grain, fromMs, untilMs })).periods.map(({ startMs, requests }) => [
    (startMs - NOW_MS) / GRAIN_MS[grain],
    requests,
  ])

t.test('30 days can be read by minute, hour and day', async t => {
  const dir = t.testdir()
  const usage = openUsage(dir)
  const writer = new UsageWriter(dir)
  const expected = new Map<Grain, Map<number, number>>()
  for (let hour = 0; hour < 30 * 24; hour++) {
    for (const minute of [0, 7, 59]) {
      const atMs = NOW_MS + hour * HOUR_MS + minute * MINUTE_MS
      usage.meterOf(SCOPE).addRequests(hour + minute + 1, atMs)
      for (const grain of ['minute', 'hour', 'day'] as const) {
        const sums = expected.get(grain) ?? new Map<number, number>()
        const period = Math.floor((atMs - NOW_MS) / GRAIN_MS[grain])
        expected.set(grain, sums.set(period, (sums.get(period) ?? 0) + hour + minute + 1))
      }
    }
    usage.sweep(NOW_MS + (hour + 1) * HOUR_MS)
    if (hour % 24 === 0) await writer.record()
  }
  for (const [grain, sums] of expected) t.strictSame(await read(dir, grain), [...sums], grain)
  const range = { fromMs: NOW_MS + 3 * DAY_MS, untilMs: NOW_MS + 3 * DAY_MS + 2 * HOUR_MS }
  t.strictSame(await read(dir, 'minute', range), [
    [4_320, 73],
    [4_327, 80],
    [4_379, 132],
    [4_380, 74],
    [4_387, 81],
    [4_439, 133],
  ])
})

t.test('every count is kept, and counts of edges are added', async t => {
  const dir = t.testdir()
  for (const edge of [0, 1]) {
    const usage = openUsage(dir, edge)
    const meter = usage.meterOf(SCOPE)
    meter.addRequests(5, NOW_MS)
    meter.addCall('getSlot', { failure: { code: -32_602 } }, NOW_MS)
    meter.addRateLimited(NO_METHOD, NOW_MS)
    usage.addRefused('address', { scope: SCOPE }, '8.8.8.8', NOW_MS)
    meter.addRequests(1, NOW_MS + 3 * DAY_MS)
  }
  const sum = { requests: 10, errors: 2, rateLimited: 2, refused: 2 }
  for (const grain of ['minute', 'hour', 'day'] as const) {
    const query = { grain, fromMs: NOW_MS, untilMs: NOW_MS + DAY_MS }
    t.strictSame((await readPeriods(dir, query)).periods, [{ startMs: NOW_MS, ...sum }], grain)
  }
})

/** More than 20 days of minutes take. */
const BYTES = 2_000_000

t.test('over the bound of bytes the oldest minutes become hours, then days go', async t => {
  const dir = t.testdir()
  const usage = openUsage(dir)
  const wide = new UsageWriter(dir)
  const hours = 20 * 24
  for (let hour = 0; hour < hours; hour++) {
    for (let minute = 0; minute < 60; minute++)
      usage.meterOf(SCOPE).addRequests(100, NOW_MS + hour * HOUR_MS + minute * MINUTE_MS)
    usage.sweep(NOW_MS + (hour + 1) * HOUR_MS)
    if (hour % 24 === 0) await wide.record()
  }
  await wide.record()
  const nowMs = NOW_MS + hours * HOUR_MS
  const all = { grain: 'minute', fromMs: 0, untilMs: NOW_MS * 2 } as const
  const known = Array.from({ length: hours }, (_, hour) => [hour, 6_000])
  const keptHours: number[] = []
  // How many bytes the rows of an hour take depends on how they are spread over pages.
  for (let bytesMax = BYTES; bytesMax > 0 && keptHours.at(-1) !== 24; bytesMax -= BYTES / 25) {
    await new UsageWriter(dir, { ...defaults, bytesMax }).prune(nowMs)
    t.strictSame(await read(dir, 'hour'), known, 'each hour is known')
    const { periods, minutesFromMs = NaN } = await readPeriods(dir, all)
    t.equal(periods[0]?.startMs, minutesFromMs)
    keptHours.push((nowMs - minutesFromMs) / HOUR_MS)
  }
  t.strictSame(
    keptHours,
    keptHours.toSorted((one, other) => other - one),
  )
  t.ok(
    keptHours.every(hours => hours % 24 === 0),
    `a day at a time: ${keptHours.join()}`,
  )
  t.ok(new Set(keptHours).size >= 10 && (keptHours[0] ?? 0) >= 14 * 24)
  t.equal(keptHours.at(-1), 24)
  await new UsageWriter(dir, { ...defaults, bytesMax: 1 }).prune(nowMs)
  t.equal((await read(dir, 'hour')).length, 24, 'yesterday is always kept')
})

t.test('hours and days that are older than is kept are removed', async t => {
  const dir = t.testdir()
  const usage = openUsage(dir)
  const writer = new UsageWriter(dir, { ...defaults, historyDaysMax: 2, keptDaysMax: 4 })
  for (let day = 0; day < 6; day++) {
    usage.meterOf(SCOPE).addRequests(1, NOW_MS + day * DAY_MS)
    usage.meterOf(SCOPE).addCall('getSlot', {}, NOW_MS + day * DAY_MS)
    usage.sweep(NOW_MS + (day + 1) * DAY_MS)
    await writer.record()
  }
  await writer.prune(NOW_MS + 5 * DAY_MS + HOUR_MS)
  t.strictSame(await read(dir, 'day'), [
    [3, 1],
    [4, 1],
    [5, 1],
  ])
})
