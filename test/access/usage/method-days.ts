import fc from 'fast-check'
import t from 'tap'
import { readMethodUsage } from '../../../src/access/usage/history-reader.js'
import { bucketOf, LATENCY_BUCKETS, percentileMs } from '../../../src/access/usage/latency.js'
import {
  CODES,
  DAY_MS,
  dayOf,
  HOUR_MS,
  MINUTE_MS,
  type Place,
} from '../../../src/access/usage/layout.js'
import { decodeMethodDays, encodeMethodDay } from '../../../src/access/usage/method-days.js'
import { NO_METHOD } from '../../../src/access/usage/meter.js'
import { defaults } from '../../../src/access/usage/options.js'
import { openUsage, type Usage } from '../../../src/access/usage/usage.js'
import { NOW_MS } from '../../fixtures/access/access.js'

const placeOf = (accessId: string): Place => ({ accessId, network: 'main', location: 'fra' })
const PLACE = placeOf('acc_1')
const TODAY = dayOf(NOW_MS)

const open = (dir: string, { edge = 0, nowMs = NOW_MS, tokensMax = 8 } = {}): Usage =>
  openUsage(dir, edge, {
    options: { ...defaults, tokensMax, filesMax: tokensMax },
    now: () => nowMs,
    onFault: fault => {
      throw fault
    },
  })

/** `days` before today up to `until` after it. */
const read = (dir: string, days = 30, until = 1) =>
  readMethodUsage(dir, PLACE, { from: TODAY - days, until: TODAY + until })

t.test('calls are counted by method, with errors by code and latencies, over all edges', t => {
  const dir = t.testdir()
  const [one, other] = [open(dir).meterOf(PLACE), open(dir, { edge: 1 }).meterOf(PLACE)]
  const refusal = { failure: { code: -32_602 }, elapsedMs: 2 }
  one.addCall('getSlot', { elapsedMs: 1 }, NOW_MS)
  one.addCall('getSlot', refusal, NOW_MS)
  other.addCall('getSlot', refusal, NOW_MS)
  other.addCall('getSlot', { failure: { code: 503 } }, NOW_MS)
  other.addCall('getBalance', { elapsedMs: 50_000 }, NOW_MS)
  one.addCall(NO_METHOD, {}, NOW_MS)
  one.addRateLimited(NO_METHOD, NOW_MS)
  const latencies = (...ms: number[]): number[] => {
    const buckets = Array<number>(LATENCY_BUCKETS).fill(0)
    for (const one of ms) buckets[bucketOf(one)] = (buckets[bucketOf(one)] ?? 0) + 1
    return buckets
  }
  const none = { requests: 1, errors: 0, rateLimited: 0, codes: [], latencies: latencies() }
  t.strictSame(read(dir), [
    {
      method: 'getSlot',
      requests: 4,
      errors: 3,
      rateLimited: 0,
      codes: [
        { code: -32_602, count: 2 },
        { code: 503, count: 1 },
      ],
      latencies: latencies(1, 2, 2),
    },
    { method: NO_METHOD, ...none, rateLimited: 1 },
    { method: 'getBalance', ...none, latencies: latencies(50_000) },
  ])
  t.strictSame(read(dir, 30, 0), [], 'not of the days before')
  t.end()
})

t.test('30 days are kept, and nothing is lost or counted twice, whatever happens', async t => {
  const step = fc.record({
    hours: fc.integer({ min: 0, max: 40 }),
    method: fc.constantFrom('getSlot', 'getBalance', 'getHealth'),
    code: fc.constantFrom(0, -32_602, 429),
    next: fc.constantFrom('nothing', 'sweep', 'kill', 'evict', 'remove'),
  })
  type Step = { hours: number; method: string; code: number; next: string }
  const play = async (steps: readonly Step[]): Promise<boolean> => {
    const dir = t.testdir()
    let nowMs = NOW_MS
    let usage = open(dir, { tokensMax: 1 })
    const expected = new Map<string, number>()
    const count = (key: string): void => void expected.set(key, (expected.get(key) ?? 0) + 1)
    for (const { hours, method, code, next } of steps) {
      for (let hour = 0; hour < hours; hour++) {
        nowMs += HOUR_MS
        // As the timer of an edge does.
        await usage.sweep(nowMs)
      }
      const failure = code === 0 ? undefined : { code }
      usage.meterOf(PLACE).addRequests(1, nowMs)
      usage.meterOf(PLACE).addCall(method, { failure, elapsedMs: 3 }, nowMs)
      count(method)
      if (code !== 0) count(`${method} ${code}`)
      if (next === 'sweep') await usage.sweep(nowMs + 10 * MINUTE_MS)
      if (next === 'kill') usage = open(dir, { nowMs, tokensMax: 1 })
      if (next === 'evict') usage.meterOf(placeOf('acc_2')).addRequests(1, nowMs)
      if (next === 'remove') await usage.sweep(nowMs + 2 * DAY_MS)
    }
    const found = new Map<string, number>()
    for (const { method, requests, codes, latencies } of read(dir, 0, 40)) {
      found.set(method, requests)
      for (const { code, count } of codes) found.set(`${method} ${code}`, count)
      const timed = latencies.reduce((sum, one) => sum + one, 0)
      if (timed !== requests || latencies[bucketOf(3)] !== requests) return false
    }
    t.strictSame(new Map([...found].toSorted()), new Map([...expected].toSorted()))
    return true
  }
  await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 10 }), play), { numRuns: 30 })
})

t.test('codes have a bound: further errors are counted without one', t => {
  const dir = t.testdir()
  const meter = open(dir).meterOf(PLACE)
  for (let code = 1; code <= CODES + 10; code++)
    meter.addCall('getSlot', { failure: { code } }, NOW_MS)
  const [slot] = read(dir)
  t.equal(slot?.errors, CODES + 10)
  t.equal(slot?.codes.length, CODES)
  t.end()
})

t.test('a day is what was written', t => {
  const counts = fc.nat()
  const plain = { noNullPrototype: true }
  const code = fc.record({ code: fc.integer({ min: -33_000, max: 600 }), count: counts }, plain)
  const buckets = { minLength: LATENCY_BUCKETS, maxLength: LATENCY_BUCKETS }
  const method = fc.record(
    {
      method: fc.constantFrom('getSlot', NO_METHOD, '/relay-bundle'),
      requests: counts,
      errors: counts,
      rateLimited: counts,
      codes: fc.array(code),
      latencies: fc.array(counts, buckets),
    },
    plain,
  )
  const stamp = fc.integer({ min: 1, max: 2 ** 32 - 1 })
  const day = fc.record({ stamp, day: fc.nat(60_000), methods: fc.array(method) }, plain)
  fc.assert(
    fc.property(day, given => t.strictSame(decodeMethodDays(encodeMethodDay(given)), [given])),
    { numRuns: 50 },
  )
  t.end()
})

t.test('buckets are those of the compiled server', t => {
  for (const [ms, bucket] of [
    [0, 0],
    [0.003_999, 0],
    [0.004, 1],
    [0.015_999, 3],
    [0.016, 4],
    [0.02, 5],
    [0.031_999, 7],
    [0.032, 8],
    [0.039_999, 8],
    [1, 27],
    [30_000, 87],
    [1e15, 87],
    [-1, 0],
  ] as const)
    t.equal(bucketOf(ms), bucket, String(ms))
  t.end()
})

t.test('percentiles differ from the exact ones by a quarter at most', t => {
  const times = fc.array(fc.double({ min: 0.02, max: 30_000, noNaN: true }), {
    minLength: 1,
    maxLength: 300,
  })
  fc.assert(
    fc.property(times, fc.constantFrom(0.5, 0.95, 0.99), (all, share) => {
      const buckets = Array<number>(LATENCY_BUCKETS).fill(0)
      for (const ms of all) buckets[bucketOf(ms)] = (buckets[bucketOf(ms)] ?? 0) + 1
      const exact = all.toSorted((a, b) => a - b)[Math.ceil(share * all.length) - 1] ?? 0
      const found = percentileMs(buckets, share) ?? 0
      return Math.abs(found - exact) <= exact / 4 + 1e-9
    }),
  )
  t.equal(percentileMs(Array<number>(LATENCY_BUCKETS).fill(0), 0.5), null)
  t.end()
})
