import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readDays, type DayQuery } from '../../../src/access/usage/day-reader.js'
import { formatDay } from '../../../src/access/usage/days.js'
import {
  DAY_MS,
  dayOf,
  daysPath,
  METHODS,
  usagePath,
  type Place,
} from '../../../src/access/usage/layout.js'
import { NO_METHOD } from '../../../src/access/usage/meter.js'
import { defaults, type Options } from '../../../src/access/usage/options.js'
import { openUsage, type Usage } from '../../../src/access/usage/usage.js'
import { NOW_MS } from '../../fixtures/access/access.js'

const DAY = dayOf(NOW_MS)
const placeOf = (accessId: string): Place => ({ accessId, network: 'main', location: 'fra' })
const PLACE = placeOf('acc_1')

const open = (dir: string, options: Partial<Options> = {}, edge = 0): Usage =>
  openUsage(dir, edge, {
    options: { ...defaults, ...options },
    onFault: fault => {
      throw fault
    },
  })

const read = async (dir: string, query: Partial<DayQuery> = {}) => {
  const days: Record<string, unknown> = {}
  for await (const { day, rows } of readDays(dir, { from: 0, until: Infinity, ...query }))
    days[day - DAY] = rows.map(({ accessId, method, requests, errors, rateLimited }) =>
      [accessId, method, requests, errors, rateLimited].join(' '),
    )
  return days
}

/** Counts a call, with its request. */
const call = (usage: Usage, method: string, nowMs = NOW_MS, place = PLACE): void => {
  const meter = usage.meterOf(place)
  meter.addRequests(1, nowMs)
  meter.addCall(method, {}, nowMs)
}

t.test('calls are counted by day and method, over all edges, and read at once', async t => {
  const dir = t.testdir()
  const [one, other] = [open(dir), open(dir, {}, 1)]
  call(one, 'getSlot', NOW_MS - DAY_MS)
  for (const usage of [one, other, one]) call(usage, 'getSlot')
  call(one, 'getBalance')
  one.meterOf(PLACE).addCall('getBalance', { failure: { code: -32_602 } }, NOW_MS)
  one.meterOf(PLACE).addCall(NO_METHOD, {}, NOW_MS)
  one.meterOf(PLACE).addRateLimited(NO_METHOD, NOW_MS)
  call(one, 'getSlot', NOW_MS, placeOf('acc_0'))
  const today = ['acc_1 (none) 1 0 1', 'acc_1 getBalance 2 1 0', 'acc_1 getSlot 3 0 0']
  t.strictSame(await read(dir), {
    [-1]: ['acc_1 getSlot 1 0 0'],
    0: ['acc_0 getSlot 1 0 0', ...today],
  })
  t.strictSame(await read(dir, { from: DAY, accessId: 'acc_1' }), { 0: today })
  t.strictSame(await read(dir, { until: DAY }), { [-1]: ['acc_1 getSlot 1 0 0'] })
  t.strictSame(await read(join(dir, 'nowhere')), {})
  // Nothing was closed: this is the state after a kill.
  call(open(dir), 'getSlot')
  t.match(await read(dir, { accessId: 'acc_1' }), {
    0: [/none/, /getBalance 2/, 'acc_1 getSlot 4 0 0'],
  })
})

t.test('a day that is over moves to a file of its own, once, and outlives its place', async t => {
  const dir = t.testdir()
  const usage = open(dir)
  call(usage, 'getSlot')
  const before = await read(dir)
  await usage.sweep(NOW_MS)
  t.strictSame(readdirSync(daysPath(dir, 0)), [], 'the day goes on')
  const nextMs = (DAY + 1) * DAY_MS
  call(usage, 'getBlockHeight', nextMs)
  await usage.sweep(nextMs)
  t.strictSame(readdirSync(daysPath(dir, 0)), [`${formatDay(DAY)}.jsonl.gz`])
  const after = { ...before, 1: ['acc_1 getBlockHeight 1 0 0'] }
  t.strictSame(await read(dir), after)
  await usage.sweep(nextMs)
  await open(dir).sweep(nextMs)
  t.strictSame(await read(dir), after, 'again, and after a restart')

  call(usage, 'getSlot', NOW_MS)
  t.strictSame((await read(dir))[0], before[0], 'a clock that was set back changes no past day')
  t.match((await read(dir))[1], [/getBlockHeight 1/, 'acc_1 getSlot 1 0 0'])
  await usage.sweep(nextMs + 3 * DAY_MS)
  t.strictSame(readdirSync(usagePath(dir, 0)), ['unknown'])
  t.match(await read(dir), { 0: before[0], 1: [/getBlockHeight 1/, /getSlot 1/] })
})

t.test('days are bounded by their number and their bytes, the oldest goes first', async t => {
  const dir = t.testdir()
  const count = async (usage: Usage, first: number, last: number): Promise<void> => {
    for (let day = first; day <= last; day++) {
      call(usage, 'getSlot', NOW_MS + day * DAY_MS)
      await usage.sweep(NOW_MS + (day + 1) * DAY_MS)
    }
  }
  await count(open(dir), 0, 99)
  t.equal(Object.keys(await read(dir)).length, 99, '90 days and more by default')
  await count(open(dir, { keptDaysMax: 7 }), 100, 100)
  t.strictSame(Object.keys(await read(dir)), ['95', '96', '97', '98', '99', '100'])
  const bytes = readFileSync(join(daysPath(dir, 0), `${formatDay(DAY + 100)}.jsonl.gz`)).length
  await count(open(dir, { keptBytesMax: bytes * 1.5 }), 101, 101)
  t.strictSame(readdirSync(daysPath(dir, 0)), [`${formatDay(DAY + 101)}.jsonl.gz`])
})

t.test('a place whose file is removed within a day keeps its counts of that day', async t => {
  const dir = t.testdir()
  const usage = open(dir, { tokensMax: 2, filesMax: 4 })
  const expected: Record<string, number> = {}
  for (let nth = 0; nth < 60; nth++) {
    const accessId = `acc_${nth % 12}`
    call(usage, 'getSlot', NOW_MS + nth * 60_000, placeOf(accessId))
    expected[accessId] = (expected[accessId] ?? 0) + 1
  }
  const rows = Object.entries(expected).map(([id, count]) => `${id} getSlot ${count} 0 0`)
  t.ok(readdirSync(usagePath(dir, 0)).length <= 5)
  t.strictSame(await read(dir), { 0: rows.toSorted() })
  await usage.sweep(NOW_MS + DAY_MS)
  t.strictSame(readdirSync(daysPath(dir, 0)), [`${formatDay(DAY)}.jsonl.gz`])
  t.strictSame(await read(dir), { 0: rows.toSorted() })
})

t.test('names of methods fill no memory, and cannot be anything but names', async t => {
  const dir = t.testdir()
  const usage = open(dir)
  const names = ['=1+1', '(none)x', '-x', '@x', '', 'a b', 'x'.repeat(40), '"', 'a,b', 'é']
  for (const name of names) call(usage, name)
  for (let nth = 0; nth < 200; nth++) call(usage, `m${nth}`)
  for (let nth = 0; nth < 200; nth++) call(open(dir), `m${nth}`)
  const { 0: rows } = (await read(dir)) as { 0: string[] }
  const own = METHODS - 2
  t.equal(rows.length, own + 1)
  t.ok(rows.includes('acc_1 m0 2 0 0'))
  t.ok(rows.includes(`acc_1 (other) ${names.length + 2 * (200 - own)} 0 0`))
})

t.test('a day that cannot be written is written later', async t => {
  const dir = t.testdir()
  const faults: unknown[] = []
  const usage = openUsage(dir, 0, { onFault: fault => faults.push(fault) })
  call(usage, 'getSlot')
  const draft = join(daysPath(dir, 0), `${formatDay(DAY)}.jsonl.gz.new`)
  mkdirSync(draft)
  await usage.sweep(NOW_MS + DAY_MS)
  t.equal(faults.length, 1)
  t.strictSame(await read(dir), { 0: ['acc_1 getSlot 1 0 0'] })
  rmSync(draft, { recursive: true })
  await usage.sweep(NOW_MS + 2 * DAY_MS)
  t.equal(faults.length, 1)
  t.ok(existsSync(draft.replace('.new', '')))
  t.strictSame(await read(dir), { 0: ['acc_1 getSlot 1 0 0'] })
})

t.test('what is no file of counts is left out', async t => {
  const dir = t.testdir()
  const usage = open(dir)
  call(usage, 'getSlot')
  writeFileSync(join(usagePath(dir, 0), 'acc_2.main.fra'), 'x')
  writeFileSync(join(usagePath(dir, 0), 'tok_1'), Buffer.alloc(28_000, 7))
  writeFileSync(join(daysPath(dir, 0), 'notes.txt'), 'x')
  t.strictSame(await read(dir), { 0: ['acc_1 getSlot 1 0 0'] })
  await open(dir).sweep(NOW_MS)
  t.notOk(existsSync(join(usagePath(dir, 0), 'tok_1')), 'of an older build')
})
