import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { bucketOfCount, lastOf, LATENCY_BUCKETS } from '../../src/usage/latency.js'
import { tipBandOf, TIP_BANDS, toPerformance, toSummary } from '../../src/usage/performance.js'
import { addAnswers } from '../../src/usage/queries.js'
import { LANE_FIGURE_NAMES } from '../../src/usage/schema.js'
import { DAY_MS, HOUR_MS } from '../../src/usage/scope.js'
import { openUsageReader, UsageWriter, type EndRow } from '../../src/usage/store.js'
import { ownDir } from '../fixtures/own-dir.js'

const HOUR = 500_000
type Given = Partial<
  Record<'access' | 'network' | 'location' | 'route' | 'lane' | 'figure', string>
> & {
  readonly hour?: number
  readonly tips?: number
  readonly slots?: number
  readonly ms?: number
}

let nextId = 0
const end = (given: Given = {}): EndRow => {
  const { access = 'acc', figure = 'landed', hour = HOUR, lane = 'lander', tips = 0 } = given
  const toCounts = (value: number | undefined): string =>
    value === undefined ? '{}' : `{"${bucketOfCount(value)}":1}`
  const { network = 'main' } = given
  const delays = [toCounts(given.slots), toCounts(given.ms)] as const
  const { location = 'fra', route = '/lander' } = given
  const scope = [String(nextId++), access, network, location, route, lane] as const
  return [...scope, hour * 60, tipBandOf(tips), tips, figure as 'landed', ...delays]
}

const askLanes = (dir: string) => {
  const ask = openUsageReader(dir)
  return async ({ access = 'acc', lane = '', from = HOUR, until = HOUR + 1, byHour = 0 } = {}) =>
    toPerformance(await ask('lanes', [access, 'main', lane, from, until, byHour]))
}

t.test('ends are counted once, by access, lane, hour and tip, and for all accesses', async t => {
  const dir = ownDir(t)
  const writer = new UsageWriter(dir)
  const lanes = askLanes(dir)
  t.strictSame(await lanes(), [], 'nothing yet')
  const rows = [
    end({ slots: 1, ms: 300 }),
    end({ slots: 2, ms: 700 }),
    end({ tips: 10_000, figure: 'expired' }),
    end({ tips: 10_000, slots: 6, ms: 90 }),
    end({ lane: '', figure: 'unseen' }),
    end({ lane: 'fast', hour: HOUR + 1, figure: 'failed' }),
    end({ access: 'other', figure: 'refused' }),
    end({ network: 'beta' }),
  ]
  await writer.addEnds(rows.slice(0, 4))
  await writer.addEnds(rows)
  await writer.addEnds(rows)
  const [lander, raced, ...others] = await lanes()
  t.strictSame(others, [])
  t.match(lander, {
    ...{ lane: 'lander', sent: 4, landed: 3, expired: 1, refused: 0, landingRate: 0.75 },
    delaySlots: { p50: 2, p90: 6, p99: 6 },
    delayMs: { p50: 319, p90: 767, p99: 767 },
    tips: [
      { tipFromLamports: 0, tipUntilLamports: 1, sent: 2, landed: 2, landingRate: 1 },
      { tipFromLamports: 10_000, tipUntilLamports: 100_000, sent: 2, landingRate: 0.5 },
    ],
  })
  t.match(raced, { lane: null, sent: 1, unseen: 1, landingRate: null, delaySlots: null })
  t.match(await lanes({ lane: 'fast', until: HOUR + 2 }), [{ lane: 'fast', failed: 1 }])
  t.strictSame(await lanes({ lane: 'none' }), [])
  const hours = await lanes({ until: HOUR + 2, byHour: 1 })
  t.strictSame(
    hours.map(({ lane, startMs }) => [lane, startMs - HOUR * HOUR_MS]),
    [
      ['fast', HOUR_MS],
      ['lander', 0],
      [null, 0],
    ],
  )
  const [all] = await lanes({ access: '', lane: 'lander' })
  t.match(all, { sent: 5, landed: 3, expired: 1, refused: 1 })
  // Marks are of use only until the sender has removed what it has counted.
  await writer.forgetEnds()
  await writer.addEnds([end()])
  t.match(await lanes(), [{ sent: 5 }, {}])
})

t.test('what an access sent is summed by route, location, lane and period', async t => {
  const dir = ownDir(t)
  const given = Array.from({ length: 300 }, (_, nth) => ({
    route: ['/lander', '/race', '/relay'][nth % 3] ?? '',
    location: ['fra', 'nyc'][nth % 2] ?? '',
    lane: ['fast', ''][nth % 5 === 0 ? 1 : 0] ?? '',
    figure: LANE_FIGURE_NAMES[nth % LANE_FIGURE_NAMES.length] ?? 'landed',
    hour: HOUR + (nth % 7),
    tips: nth * 1_000,
    ...(nth % LANE_FIGURE_NAMES.length === 0 ? { slots: nth % 4, ms: nth } : {}),
  }))
  const writer = new UsageWriter(dir)
  await writer.addEnds(given.map(one => end(one)))
  await writer.addEnds([end({ access: 'other' }), end({ hour: HOUR - 1 })])
  const ask = openUsageReader(dir)
  const rowsBy = (hours: number) =>
    ask('landing', ['acc', HOUR * HOUR_MS, (HOUR + 7) * HOUR_MS, hours * HOUR_MS])
  const summary = toSummary(await rowsBy(0), await rowsBy(6))

  const figuresOf = (ones: typeof given) => {
    const landed = ones.filter(({ figure }) => figure === 'landed')
    return {
      sent: ones.length,
      landed: landed.length,
      tippedLamports: landed.reduce((sum, { tips }) => sum + tips, 0),
    }
  }
  t.match(summary.total, figuresOf(given))
  t.equal(summary.total.delaySlots?.p99, 3)
  const groups = [
    [summary.routes, 'route'],
    [summary.locations, 'location'],
    [summary.lanes, 'lane'],
  ] as const
  for (const [found, key] of groups) {
    t.equal(found.length, new Set(given.map(one => one[key])).size)
    for (const { name, ...figures } of found)
      t.match(figures, figuresOf(given.filter(one => one[key] === name)), `${key} ${name}`)
    t.strictSame(
      found.map(({ sent }) => sent),
      found.map(({ sent }) => sent).toSorted((one, other) => other - one),
    )
  }
  const starts = [...new Set(given.map(({ hour }) => Math.floor(hour / 6) * 6))]
  t.strictSame(
    summary.periods.map(({ startMs, sent }) => [startMs, sent]),
    starts.map(start => [
      start * HOUR_MS,
      given.filter(({ hour }) => hour >= start && hour < start + 6).length,
    ]),
  )
})

t.test('minutes are counted in whole, then hours, and none twice', async t => {
  const dir = ownDir(t)
  const writer = new UsageWriter(dir)
  const ask = openUsageReader(dir)
  const MINUTE_MS = 60_000
  const nowMs = HOUR * HOUR_MS + 59 * MINUTE_MS
  const first = HOUR * 60
  const at = (minute: number, given: Given = {}): EndRow =>
    end(given).with(6, minute) as unknown as EndRow
  const sent = async (access: string, fromMs: number, untilMs: number, stepMs: number) => {
    const rows = await ask('landing', [access, fromMs, untilMs, stepMs])
    return rows.map(row => [row.startMs, toSummary([row], []).total.sent])
  }
  const ends = [
    ...[at(first), at(first + 1), at(first + 1, { tips: 10_000 }), at(first + 4)],
    ...[at(first + 5, { figure: 'expired' }), at(first + 5, { access: 'other' })],
    // Longer ago than minutes are kept.
    ...[at(first - 26 * 60 + 7), at(first - 26 * 60 + 8)],
  ]
  await writer.addEnds(ends, nowMs)
  await writer.addEnds(ends, nowMs)
  const [fromMs, untilMs] = [first * MINUTE_MS, (first + 5) * MINUTE_MS]
  const byMinute = [
    [fromMs, 1],
    [fromMs + MINUTE_MS, 2],
    [fromMs + 4 * MINUTE_MS, 1],
  ]
  t.strictSame(await sent('acc', fromMs, untilMs, MINUTE_MS), byMinute)
  t.strictSame(await sent('acc', fromMs, untilMs, 0), [[0, 4]])
  t.strictSame(await sent('', fromMs, untilMs + MINUTE_MS, 0), [[0, 6]], 'of all accesses')
  const oldMs = fromMs - 26 * HOUR_MS
  const whole = [
    [oldMs, 2],
    [fromMs, 5],
  ]
  t.strictSame(await sent('acc', oldMs, fromMs + HOUR_MS, HOUR_MS), whole)
  t.strictSame(
    await sent('acc', oldMs + MINUTE_MS, oldMs + 9 * MINUTE_MS, MINUTE_MS),
    [],
    'an hour is where it begins',
  )
  await writer.prune(nowMs + 23 * HOUR_MS)
  t.strictSame(await sent('acc', fromMs, untilMs, MINUTE_MS), byMinute, 'for a day')
  await writer.prune(nowMs + 26 * HOUR_MS)
  t.strictSame(await sent('acc', oldMs, fromMs + HOUR_MS, HOUR_MS), whole, 'then in their hours')
  t.strictSame(await sent('acc', fromMs, untilMs, MINUTE_MS), [[fromMs, 5]])
})

t.test('the answers of machines are added up', async t => {
  const parent = ownDir(t)
  const answers = await Promise.all(
    [3, 2].map(async count => {
      const dir = mkdtempSync(join(parent, 'machine-'))
      const rows = Array.from({ length: count }, () => end({ slots: count, ms: 8 }))
      await new UsageWriter(dir).addEnds(rows)
      return openUsageReader(dir)('lanes', ['', '', '', 0, HOUR + 1, 0])
    }),
  )
  t.match(toPerformance(addAnswers('lanes', answers)), [
    { sent: 5, landed: 5, delaySlots: { p50: 3, p99: 3 }, delayMs: { p50: 9 } },
  ])
})

t.test('a share is exact to 7, and never too low or more than a quarter too high', t => {
  for (let value = 0; value < 8; value++) t.equal(lastOf(bucketOfCount(value)), value)
  for (let value = 1; value < 700_000; value += 1 + Math.floor(value / 50)) {
    const told = lastOf(bucketOfCount(value))
    if (told < value || told > value * 1.25) t.fail(`${told} of ${value}`)
  }
  t.ok(bucketOfCount(600_000) < LATENCY_BUCKETS - 1, 'the longest search has a bucket')
  for (const [at, from] of TIP_BANDS.entries()) {
    t.equal(tipBandOf(from), from)
    if (at > 0) t.equal(tipBandOf(from - 1), TIP_BANDS[at - 1])
  }
  t.equal(tipBandOf(Number.MAX_SAFE_INTEGER), TIP_BANDS.at(-1))
  t.end()
})

t.test('rows do not grow with what is submitted, and old ones are removed', async t => {
  const dir = ownDir(t)
  const writer = new UsageWriter(dir)
  const rows = Array.from({ length: 20_000 }, (_, nth) =>
    end({ access: 'busy', slots: nth % 40, ms: nth * 7, tips: TIP_BANDS[nth % 7] ?? 0 }),
  )
  for (let at = 0; at < rows.length; at += 500) await writer.addEnds(rows.slice(at, at + 500))
  await writer.addEnds([end({ access: 'calm' })])
  const lanes = askLanes(dir)
  t.match(await lanes({ access: 'busy' }), [{ sent: 20_000, tips: { length: 7 } }])
  t.match(await lanes({ access: 'calm' }), [{ sent: 1 }])
  const [{ size = 0 } = {}] = (
    await openUsageReader(dir)('lanes', ['busy', '', '', 0, 1e6, 1])
  ).map(row => ({ size: JSON.stringify(row).length }))
  t.ok(size < 2_000, `${size} bytes of a row`)
  await writer.prune(HOUR * HOUR_MS + 29 * DAY_MS)
  t.equal((await lanes({ access: 'calm' })).length, 1)
  await writer.prune(HOUR * HOUR_MS + 32 * DAY_MS)
  t.strictSame(await lanes({ access: 'calm' }), [])
  t.strictSame(await lanes({ access: 'busy' }), [])
})
