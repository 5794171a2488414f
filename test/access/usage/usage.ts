import { readdirSync, truncateSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  BYTES_WITHOUT_CLIENTS,
  CLIENTS,
  DAY_MS,
  dayOf,
  fileOf,
  MINUTE_MS,
  usagePath,
  type Place,
} from '../../../src/access/usage/layout.js'
import { readRate, readUsage } from '../../../src/access/usage/reader.js'
import { defaults } from '../../../src/access/usage/options.js'
import { NO_METHOD } from '../../../src/access/usage/meter.js'
import { openUsage, type Usage } from '../../../src/access/usage/usage.js'
import { NOW_MS } from '../../fixtures/access/access.js'

const placeOf = (accessId: string): Place => ({ accessId, network: 'main', location: 'fra' })
const PLACE = placeOf('acc_abcdefghijkl')
const onFault = (fault: unknown): never => {
  throw fault
}
const open = (dir: string, edge = 0, tokensMax = defaults.tokensMax): Usage =>
  openUsage(dir, edge, { options: { ...defaults, tokensMax }, onFault })

/** Minutes with counts, as minutes before the present one. */
const countedOf = (dir: string, nowMs: number, place = PLACE) =>
  readUsage(dir, place, nowMs)
    .minutes.map(({ startMs, requests, errors, rateLimited, refused }) => ({
      age: Math.floor((nowMs - startMs) / MINUTE_MS),
      requests,
      errors,
      rateLimited,
      refused,
    }))
    .filter(({ age: _, ...counts }) => Object.values(counts).some(count => count > 0))
    .reverse()

const setUp = (t: Test) => {
  const dir = t.testdir()
  return { dir, meter: open(dir).meterOf(PLACE) }
}

t.test('counts can be read at once, and after a kill of the edge', async t => {
  const { dir, meter } = setUp(t)
  meter.addRequests(3, NOW_MS)
  meter.addCall('getSlot', { failure: { code: -32_602 } }, NOW_MS)
  meter.addRateLimited(NO_METHOD, NOW_MS)
  meter.addRefused('address', '192.0.2.7', NOW_MS + 5)
  const expected = [{ age: 0, requests: 3, errors: 1, rateLimited: 1, refused: 1 }]
  t.strictSame(countedOf(dir, NOW_MS), expected)
  t.equal(readUsage(dir, PLACE, NOW_MS).minutes.length, 1_440)
  t.strictSame(readUsage(dir, PLACE, NOW_MS).refused, [
    { atMs: NOW_MS + 5, address: '192.0.2.7', reason: 'address' },
  ])
  // Nothing was closed: this is the state after a kill.
  open(dir).meterOf(PLACE).addRequests(1, NOW_MS)
  t.match(countedOf(dir, NOW_MS), [{ requests: 4, errors: 1 }])
})

t.test('minutes are kept for one day', async t => {
  const { dir, meter } = setUp(t)
  for (const [count, minute] of [
    [1, 0],
    [2, 1],
    [3, 700],
    [4, 1_439],
  ] as const)
    meter.addRequests(count, NOW_MS + minute * MINUTE_MS)
  const read = (minute: number) =>
    countedOf(dir, NOW_MS + minute * MINUTE_MS).map(({ age, requests }) => [age, requests])
  t.strictSame(read(1_439), [
    [0, 4],
    [739, 3],
    [1_438, 2],
    [1_439, 1],
  ])
  t.strictSame(
    read(1_440),
    [
      [1, 4],
      [740, 3],
      [1_439, 2],
    ],
    'the oldest is dropped without being overwritten',
  )
  meter.addRequests(9, NOW_MS + 1_441 * MINUTE_MS)
  t.strictSame(read(1_441), [
    [0, 9],
    [2, 4],
    [741, 3],
  ])
  meter.addRequests(1, NOW_MS + 9_000 * MINUTE_MS)
  t.strictSame(read(9_000), [[0, 1]], 'after days of rest nothing of old is left')
})

t.test('after the clock is set back, the newest minute is counted in', async t => {
  const { dir, meter } = setUp(t)
  meter.addRequests(1, NOW_MS)
  meter.addRequests(1, NOW_MS - 10 * MINUTE_MS)
  t.match(countedOf(dir, NOW_MS), [{ age: 0, requests: 2 }])
})

t.test('counts of edges are added, and the newest refusals are kept', async t => {
  const dir = t.testdir()
  const [one, two] = [open(dir, 0).meterOf(PLACE), open(dir, 1).meterOf(PLACE)]
  one.addRequests(30, NOW_MS)
  two.addRequests(31, NOW_MS)
  t.match(countedOf(dir, NOW_MS), [{ requests: 61 }])
  for (let nth = 0; nth < 100; nth++)
    (nth % 2 === 0 ? one : two).addRefused('location', `2001:db8::${nth}`, NOW_MS + nth)
  const { refused } = readUsage(dir, PLACE, NOW_MS)
  t.equal(refused.length, 64)
  t.strictSame(refused[0], { atMs: NOW_MS + 99, address: '2001:db8::99', reason: 'location' })
  t.strictSame(refused.at(-1), { atMs: NOW_MS + 36, address: '2001:db8::36', reason: 'location' })
  t.match(countedOf(dir, NOW_MS), [{ refused: 100 }])
  t.strictSame(readUsage(dir, placeOf('acc_other'), NOW_MS).refused, [])
  t.strictSame(readUsage(join(dir, 'nowhere'), PLACE, NOW_MS).refused, [])
})

t.test('addresses of clients are those seen last, each once over all edges', async t => {
  const dir = t.testdir()
  const seen = () => readUsage(dir, PLACE, NOW_MS).clients
  const [one, other] = [open(dir).meterOf(PLACE), open(dir, 1).meterOf(PLACE)]
  t.strictSame(seen(), [])
  one.addClient('8.8.8.8', NOW_MS - 30)
  one.addClient('2001:db8:0:1:2:3:4:5', NOW_MS - 20)
  other.addClient('8.8.8.8', NOW_MS - 10)
  one.addClient('', NOW_MS)
  one.addClient('8.8.4.4', NOW_MS - 25 * 3_600_000)
  t.strictSame(
    seen(),
    [
      { address: '8.8.8.8', lastSeenMs: NOW_MS - 10 },
      { address: '2001:db8:0:1:2:3:4:5', lastSeenMs: NOW_MS - 20 },
    ],
    'of the last day, and only where the address is known',
  )
  // The edge was killed: another meter of the file knows what it has.
  const again = open(dir).meterOf(PLACE)
  again.addClient('8.8.8.8', NOW_MS)
  for (let index = 0; index < CLIENTS.entries; index++)
    again.addClient(`1.1.1.${index}`, NOW_MS + index)
  const addresses = seen().map(({ address }) => address)
  t.equal(addresses.length, CLIENTS.entries)
  t.equal(addresses[0], `1.1.1.${CLIENTS.entries - 1}`)
  t.notOk(addresses.includes('2001:db8:0:1:2:3:4:5'), 'what was seen first makes room')
})

t.test('attempts with former tokens are counted by token and address, in their day', async t => {
  const dir = t.testdir()
  const seen = (nowMs: number) => readUsage(dir, PLACE, nowMs).replaced
  const [one, other] = [open(dir), open(dir, 1)]
  const dayMs = dayOf(NOW_MS) * DAY_MS + 3_600_000
  const attempt = (usage: Usage, formerTail: string, address: string, nowMs: number) =>
    usage.addRefused('replaced', { place: PLACE, formerTail }, address, nowMs)
  attempt(one, 'abcd', '8.8.8.8', dayMs - DAY_MS / 2)
  attempt(one, 'abcd', '8.8.8.8', dayMs)
  attempt(other, 'abcd', '8.8.8.8', dayMs + 2)
  attempt(one, 'wxyz', '8.8.8.8', dayMs + 1)
  t.strictSame(seen(dayMs + 2), [
    { tail: 'abcd', address: '8.8.8.8', lastSeenMs: dayMs + 2, today: 2 },
    { tail: 'wxyz', address: '8.8.8.8', lastSeenMs: dayMs + 1, today: 1 },
  ])
  t.match(readUsage(dir, PLACE, dayMs + 2).refused, { length: 4 }, 'each is a refused attempt, too')
  t.match(seen(dayMs + DAY_MS - 3_600_001), [{ today: 2 }, { today: 1 }], 'the same day')
  t.match(seen(dayMs + DAY_MS - 60_000), [{ today: 0 }, { today: 0 }], 'not of the next day')
  t.strictSame(seen(dayMs + 2 * DAY_MS), [])
})

t.test('a file of a build without clients keeps its counts, and gets clients', async t => {
  const { dir, meter } = setUp(t)
  meter.addRequests(3, NOW_MS)
  const path = join(usagePath(dir, 0), fileOf(PLACE))
  truncateSync(path, BYTES_WITHOUT_CLIENTS)
  t.match(countedOf(dir, NOW_MS), [{ requests: 3 }], 'read as it is')
  open(dir).meterOf(PLACE).addClient('8.8.8.8', NOW_MS)
  t.match(countedOf(dir, NOW_MS), [{ requests: 3 }])
  t.match(readUsage(dir, PLACE, NOW_MS).clients, [{ address: '8.8.8.8' }])
})

t.test('the rate covers the last minute without refused requests', async t => {
  const { dir, meter } = setUp(t)
  const minuteMs = Math.floor(NOW_MS / MINUTE_MS) * MINUTE_MS
  meter.addRequests(600, minuteMs)
  t.equal(readRate(dir, [PLACE], minuteMs), 10)
  t.equal(readRate(dir, [PLACE], minuteMs + MINUTE_MS), 10)
  t.equal(readRate(dir, [PLACE], minuteMs + 1.5 * MINUTE_MS), 5)
  t.equal(readRate(dir, [PLACE, PLACE], minuteMs + MINUTE_MS), 20)
  meter.addRateLimited(NO_METHOD, minuteMs)
  t.equal(readRate(dir, [PLACE], minuteMs), 599 / 60)
})

t.test('the number of open counters is bounded, and no count is lost', async t => {
  const dir = t.testdir()
  const usage = open(dir, 0, 2)
  for (const [nth, token] of ['acc_1', 'acc_2', 'acc_3', 'acc_1'].entries())
    usage.meterOf(placeOf(token)).addRequests(1, NOW_MS + nth * MINUTE_MS)
  const nowMs = NOW_MS + 3 * MINUTE_MS
  t.match(countedOf(dir, nowMs, placeOf('acc_1')), [{ age: 0 }, { age: 3 }])
  t.match(countedOf(dir, nowMs, placeOf('acc_2')), [{ age: 2 }])
})

t.test('files of places unused for a day are removed', async t => {
  const dir = t.testdir()
  const usage = open(dir)
  usage.meterOf(placeOf('acc_old')).addRequests(1, NOW_MS)
  usage.meterOf(placeOf('acc_new')).addRequests(1, NOW_MS + 1_439 * MINUTE_MS)
  const path = usagePath(dir, 0)
  await usage.sweep(NOW_MS + 1_441 * MINUTE_MS)
  t.strictSame(readdirSync(path).sort(), ['acc_new.main.fra', 'unknown'])
  usage.meterOf(placeOf('acc_old')).addRequests(1, NOW_MS + 1_442 * MINUTE_MS)
  t.match(countedOf(dir, NOW_MS + 1_442 * MINUTE_MS, placeOf('acc_old')), [{ age: 0, requests: 1 }])
})

t.test('thousands of places fill no disk, and displace none that is in use', async t => {
  const dir = t.testdir()
  const options = { ...defaults, tokensMax: 4, filesMax: 16 }
  const path = usagePath(dir, 0)
  const files = () => readdirSync(path).filter(name => name !== 'unknown')
  const usage = openUsage(dir, 0, { options, onFault })
  for (let nth = 0; nth < 1_000; nth++) {
    usage.meterOf(PLACE).addRequests(1, NOW_MS + nth * MINUTE_MS)
    usage.meterOf(placeOf(`acc_${nth}`)).addRequests(1, NOW_MS + nth * MINUTE_MS)
    if (files().length > 16) t.fail(`${files().length} files`)
  }
  const nowMs = NOW_MS + 999 * MINUTE_MS
  t.equal(countedOf(dir, nowMs).length, 1_000, 'a place in use keeps its counts')
  t.match(countedOf(dir, nowMs, placeOf('acc_999')), [{ age: 0 }])
  t.match(countedOf(dir, nowMs, placeOf('acc_985')), [{ age: 14 }], 'the newest ones stay')
  t.strictSame(countedOf(dir, nowMs, placeOf('acc_984')), [])
  for (const name of files()) utimesSync(join(path, name), 0, name === 'acc_990.main.fra' ? 1 : 2)
  openUsage(dir, 0, { options, onFault }).meterOf(placeOf('acc_new'))
  t.equal(files().length, 16, 'also after a restart')
  t.notOk(
    files().includes('acc_990.main.fra'),
    'the one that was not used for the longest time goes first',
  )
})

t.test('requests continue if counts cannot be stored', async t => {
  const dir = t.testdir({ edges: { 0: { usage: { 'acc_1.main.fra': {} } } } })
  const faults: unknown[] = []
  const usage = openUsage(dir, 0, { onFault: fault => faults.push(fault) })
  usage.meterOf(placeOf('acc_1')).addRequests(1, NOW_MS)
  t.equal(faults.length, 1)
})

t.test('a file of another layout is reset', async t => {
  const dir = t.testdir({ edges: { 0: { usage: { [fileOf(PLACE)]: Buffer.alloc(30_000, 7) } } } })
  t.strictSame(countedOf(dir, NOW_MS), [])
  open(dir).meterOf(PLACE).addRequests(1, NOW_MS)
  t.strictSame(countedOf(dir, NOW_MS), [
    { age: 0, requests: 1, errors: 0, rateLimited: 0, refused: 0 },
  ])
})
