import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { NO_METHOD } from '../../src/usage/calls.js'
import type { LiveCells } from '../../src/usage/live-cells.js'
import { RECENT_MAX } from '../../src/usage/schema.js'
import { DAY_MS, dayOf, HOUR_MS, MINUTE_MS, type TokenScope } from '../../src/usage/scope.js'
import { UsageWriter } from '../../src/usage/store.js'
import { NOW_MS } from '../fixtures/access/access.js'
import { openUsage, usageIn } from '../fixtures/usage/usage.js'

const scopeOf = (accessId: string): TokenScope => ({ accessId, network: 'main', location: 'fra' })
const SCOPE = scopeOf('acc_abcdefghijkl')

const readScope = (dir: string, nowMs: number, scope = SCOPE) =>
  usageIn(dir, () => nowMs).ofScope(scope)

/** Minutes with counts, as minutes before the present one, the newest first. */
const countedIn = async (dir: string, nowMs: number, scope = SCOPE) =>
  (await readScope(dir, nowMs, scope)).minutes
    .map(({ startMs, ...counts }) => ({
      age: Math.floor((nowMs - startMs) / MINUTE_MS),
      ...counts,
    }))
    .filter(({ age: _, ...counts }) => Object.values(counts).some(count => count > 0))
    .toReversed()

t.test('counts can be read at once, after a kill of the edge, and once recorded', async t => {
  const dir = t.testdir()
  const meter = openUsage(dir).meterOf(SCOPE)
  meter.addRequests(3, NOW_MS)
  meter.addCall('getSlot', { failure: { code: -32_602 } }, NOW_MS)
  meter.addRateLimited(NO_METHOD, NOW_MS)
  meter.addRefused('address', '192.0.2.7', NOW_MS + 5)
  const expected = [{ age: 0, requests: 3, errors: 1, rateLimited: 1, refused: 1 }]
  const refused = [{ atMs: NOW_MS + 5, address: '192.0.2.7', reason: 'address' }]
  const writer = new UsageWriter(dir)
  for (const when of ['at once', 'with a store', 'of a killed edge', 'recorded', 'again']) {
    t.strictSame(await countedIn(dir, NOW_MS), expected, when)
    const found = await readScope(dir, NOW_MS + 5)
    t.equal(found.minutes.length, 1_440)
    t.strictSame(found.refused, refused, when)
    // Nothing was closed: this is the state after a kill.
    if (when === 'with a store') openUsage(dir)
    if (when !== 'at once') await writer.record()
  }
  openUsage(dir).meterOf(SCOPE).addRequests(1, NOW_MS)
  t.match(await countedIn(dir, NOW_MS), [{ requests: 4, errors: 1 }])
  for (const name of readdirSync(dir).filter(found => found.startsWith('usage.sqlite')))
    t.equal(statSync(join(dir, name)).mode & 0o077, 0, `${name} is the user's alone`)
})

t.test('minutes are shown for one day', async t => {
  const dir = t.testdir()
  const meter = openUsage(dir).meterOf(SCOPE)
  for (const [count, minute] of [
    [1, 0],
    [2, 1],
    [3, 700],
    [4, 1_439],
  ] as const)
    meter.addRequests(count, NOW_MS + minute * MINUTE_MS)
  const read = async (minute: number) =>
    (await countedIn(dir, NOW_MS + minute * MINUTE_MS)).map(({ age, requests }) => [age, requests])
  const all = [
    [0, 4],
    [739, 3],
    [1_438, 2],
    [1_439, 1],
  ]
  t.strictSame(await read(1_439), all)
  t.strictSame(
    await read(1_440),
    all.slice(0, 3).map(([age = 0, count]) => [age + 1, count]),
  )
  meter.addRequests(1, NOW_MS + 9_000 * MINUTE_MS)
  t.strictSame(await read(9_000), [[0, 1]], 'after days of rest')
})

t.test('after the clock is set back, the newest minute is counted in', async t => {
  const dir = t.testdir()
  const usage = openUsage(dir)
  const meter = usage.meterOf(SCOPE)
  meter.addRequests(1, NOW_MS)
  meter.addRequests(1, NOW_MS - 10 * MINUTE_MS)
  usage.sweep(NOW_MS + MINUTE_MS)
  meter.addRequests(1, NOW_MS - 10 * MINUTE_MS)
  t.match(await countedIn(dir, NOW_MS), [{ age: 0, requests: 3 }])
})

t.test('counts of edges are added, and the newest refusals are kept', async t => {
  const dir = t.testdir()
  const [one, two] = [openUsage(dir, 0).meterOf(SCOPE), openUsage(dir, 1).meterOf(SCOPE)]
  one.addRequests(30, NOW_MS)
  two.addRequests(31, NOW_MS)
  for (let nth = 0; nth < 100; nth++)
    (nth % 2 === 0 ? one : two).addRefused('location', `2001:db8::${nth}`, NOW_MS + nth)
  const writer = new UsageWriter(dir)
  for (const when of ['live', 'recorded']) {
    t.match(await countedIn(dir, NOW_MS), [{ requests: 61, refused: 100 }], when)
    const { refused } = await readScope(dir, NOW_MS + 99)
    t.equal(refused.length, RECENT_MAX)
    t.match(refused[0], { atMs: NOW_MS + 99, address: '2001:db8::99', reason: 'location' })
    t.match(refused.at(-1), { atMs: NOW_MS + 36, address: '2001:db8::36' })
    await writer.record()
  }
  t.strictSame((await readScope(dir, NOW_MS, scopeOf('acc_other'))).refused, [])
  t.strictSame((await readScope(join(dir, 'nowhere'), NOW_MS)).refused, [])
})

t.test('addresses of clients are those seen last, each once over all edges', async t => {
  const dir = t.testdir()
  const seen = async () => (await readScope(dir, NOW_MS)).clients
  const [one, other] = [openUsage(dir).meterOf(SCOPE), openUsage(dir, 1).meterOf(SCOPE)]
  t.strictSame(await seen(), [])
  one.addClient('8.8.8.8', NOW_MS - 30)
  one.addClient('2001:db8:0:1:2:3:4:5', NOW_MS - 20)
  other.addClient('8.8.8.8', NOW_MS - 10)
  one.addClient('', NOW_MS)
  one.addClient('8.8.4.4', NOW_MS - 25 * HOUR_MS)
  const expected = [
    { address: '8.8.8.8', lastSeenMs: NOW_MS - 10 },
    { address: '2001:db8:0:1:2:3:4:5', lastSeenMs: NOW_MS - 20 },
  ]
  t.strictSame(await seen(), expected, 'of the last day, and only if the address is known')
  const writer = new UsageWriter(dir)
  await writer.record()
  t.strictSame(await seen(), expected)
  const again = openUsage(dir).meterOf(SCOPE)
  for (let index = 0; index < 500; index++)
    again.addClient(`1.1.${index >> 8}.${index & 255}`, NOW_MS + index)
  await writer.record()
  const addresses = (await seen()).map(({ address }) => address)
  t.equal(addresses.length, RECENT_MAX)
  t.equal(addresses[0], '1.1.1.243')
  t.notOk(addresses.includes('2001:db8:0:1:2:3:4:5'), 'what was seen first makes room')
})

t.test('attempts with former tokens are counted by token and address, in their day', async t => {
  const dir = t.testdir()
  const seen = async (nowMs: number) => (await readScope(dir, nowMs)).replaced
  const [one, other] = [openUsage(dir), openUsage(dir, 1)]
  const dayMs = dayOf(NOW_MS) * DAY_MS + HOUR_MS
  const attempt = (usage: LiveCells, formerTail: string, address: string, nowMs: number) =>
    usage.addRefused('replaced', { scope: SCOPE, formerTail }, address, nowMs)
  attempt(one, 'abcd', '8.8.8.8', dayMs - DAY_MS / 2)
  attempt(one, 'abcd', '8.8.8.8', dayMs)
  attempt(other, 'abcd', '8.8.8.8', dayMs + 2)
  attempt(one, 'wxyz', '8.8.8.8', dayMs + 1)
  t.strictSame(await seen(dayMs + 2), [
    { tail: 'abcd', address: '8.8.8.8', lastSeenMs: dayMs + 2, today: 2 },
    { tail: 'wxyz', address: '8.8.8.8', lastSeenMs: dayMs + 1, today: 1 },
  ])
  t.match((await readScope(dir, dayMs + 2)).refused, { length: 4 }, 'each is a refused attempt')
  t.match(await seen(dayMs + DAY_MS - HOUR_MS - 1), [{ today: 2 }, { today: 1 }], 'the same day')
  t.match(await seen(dayMs + DAY_MS - MINUTE_MS), [{ today: 0 }, { today: 0 }], 'the next day')
  t.strictSame(await seen(dayMs + 2 * DAY_MS), [])
  for (let nth = 0; nth < 1_000; nth++) attempt(one, 'abcd', `10.0.0.${nth}`, dayMs + 10)
  const flooded = await seen(dayMs + 10)
  t.equal(flooded.length, 32, 'addresses have a bound')
  const sum = flooded.reduce((total, { today }) => total + today, 0)
  t.ok(
    flooded.some(({ address, today }) => address === '' && today > 900),
    `${sum} are counted`,
  )
})

t.test('the rate covers the last minute without refused requests', async t => {
  const dir = t.testdir()
  const meter = openUsage(dir).meterOf(SCOPE)
  const minuteMs = Math.floor(NOW_MS / MINUTE_MS) * MINUTE_MS
  const rate = async (nowMs: number) =>
    (await usageIn(dir, () => nowMs).ofAccess(SCOPE.accessId, [])).requestsPerSecond
  meter.addRequests(600, minuteMs)
  t.equal(await rate(minuteMs), 10)
  t.equal(await rate(minuteMs + MINUTE_MS), 10)
  t.equal(await rate(minuteMs + 1.5 * MINUTE_MS), 5)
  for (let nth = 0; nth < 60; nth++) meter.addRateLimited(NO_METHOD, minuteMs)
  t.equal(await rate(minuteMs), 9)
})

t.test('of more than there are rows none is lost', async t => {
  const dir = t.testdir()
  const faults: unknown[] = []
  const usage = openUsage(dir, 0, { slotsMax: 16 }, fault => faults.push(fault))
  const key = 'x'.repeat(300)
  for (const accessId of [...Array.from({ length: 40 }, (_, nth) => `acc_${nth}`), key]) {
    const meter = usage.meterOf(scopeOf(accessId))
    meter.addRequests(2, NOW_MS)
    meter.addCall('getSlot', {}, NOW_MS)
  }
  const other = { accessId: '(other)', network: '', location: '' }
  const at = Date.now()
  const own = await countedIn(dir, NOW_MS, scopeOf('acc_0'))
  const [shared] = await countedIn(dir, at, other)
  t.match(own, [{ requests: 2 }])
  t.equal(shared?.requests, 2 * (41 - 7))
  t.equal(faults.length, 1)
  // Slots that were freed are used again.
  const writer = new UsageWriter(dir)
  usage.sweep(NOW_MS + MINUTE_MS)
  await writer.record()
  await new Promise(resolve => setTimeout(resolve, 110))
  usage.meterOf(scopeOf('acc_39')).addRequests(5, NOW_MS + MINUTE_MS)
  t.match(await countedIn(dir, NOW_MS + MINUTE_MS, scopeOf('acc_39')), [{ requests: 5 }])
})

t.test('requests continue if counts cannot be stored', async t => {
  const dir = t.testdir({ edges: 'a file' })
  const faults: unknown[] = []
  const usage = openUsage(dir, 0, {}, fault => faults.push(fault))
  for (let nth = 0; nth < 20_000; nth++)
    usage.meterOf(scopeOf(`acc_${nth % 100}`)).addRequests(1, NOW_MS + nth * 1_000)
  t.match(faults, [{ message: /edges/ }, { message: /all rows/ }])
})

t.test('what is no file of counts is left out', async t => {
  const dir = t.testdir()
  openUsage(dir).meterOf(SCOPE).addRequests(3, NOW_MS)
  mkdirSync(join(dir, 'edges', '7'))
  writeFileSync(join(dir, 'edges', '7', 'usage-4'), 'x')
  writeFileSync(join(dir, 'edges', '7', 'usage-5'), Buffer.alloc(6_000_000, 7))
  writeFileSync(join(dir, 'edges', '7', 'usage-6'), Buffer.alloc(6_000_000))
  const writer = new UsageWriter(dir)
  await writer.record()
  t.match(await countedIn(dir, NOW_MS), [{ requests: 3 }])
})

type Step = { readonly minutes: number; readonly count: number; readonly next: string }

t.test('nothing is lost or counted twice, whatever is killed at whatever moment', async t => {
  const step: fc.Arbitrary<Step> = fc.record({
    minutes: fc.integer({ min: 0, max: 1_500 }),
    count: fc.integer({ min: 1, max: 1_000 }),
    next: fc.constantFrom('nothing', 'sweep', 'kill', 'record', 'kill of the recorder', 'prune'),
  })
  const play = async (steps: readonly Step[]): Promise<boolean> => {
    const dir = t.testdir()
    let nowMs = NOW_MS
    let usage = openUsage(dir, 0, { slotsMax: 1_024 })
    let writer = new UsageWriter(dir)
    let total = 0
    for (const { minutes, count, next } of steps) {
      nowMs += minutes * MINUTE_MS
      usage.meterOf(SCOPE).addRequests(count, nowMs)
      usage.meterOf(SCOPE).addCall('getSlot', { elapsedMs: 3 }, nowMs)
      total += count
      if (next === 'sweep') usage.sweep(nowMs + MINUTE_MS)
      if (next === 'kill') usage = openUsage(dir, 0, { slotsMax: 1_024 })
      if (next === 'record') await writer.record()
      if (next === 'kill of the recorder') writer = new UsageWriter(dir)
      if (next === 'prune') await writer.prune(nowMs)
    }
    const read = usageIn(dir, () => nowMs)
    const range = { fromMs: 0, untilMs: nowMs + DAY_MS }
    for (const grain of ['minute', 'hour', 'day'] as const) {
      const { periods } = await read.ofPeriods(SCOPE, { grain, ...range })
      if (periods.reduce((sum, { requests }) => sum + requests, 0) !== total) return false
    }
    const [method] = await (
      await read.ofMethods(SCOPE, { from: dayOf(NOW_MS), until: dayOf(NOW_MS) + 40 })
    ).methods
    return steps.length === 0 || method?.requests === steps.length
  }
  await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 12 }), play), { numRuns: 40 })
})
