import fc from 'fast-check'
import t from 'tap'
import type { AlertRule } from '../../../src/access/store/webhook-shape.js'
import type { IncidentView } from '../../../src/dashboard/api/incidents/incident-shapes.js'
import {
  DEFAULT_RULES,
  defaultRule,
  KINDS,
  WARNING_KINDS,
  type WarningKind,
} from '../../../src/dashboard/warnings/kinds.js'
import { defaults } from '../../../src/dashboard/warnings/options.js'
import { findWarnings, sampleOf, type Watched } from '../../../src/dashboard/warnings/rules.js'
import { bucketOf, LATENCY_BUCKETS } from '../../../src/usage/latency.js'
import { LIMITS } from '../../fixtures/access/access.js'

const MINUTE_MS = 60_000
const NOW_MS = 1_800_000_000_000 + 30_000
const DAY_MS = 86_400_000

const NO_MEANS = { requestsPerSecond: 0, requestsInFlight: 0, sockets: 0, subscriptionsOfSocket: 0 }
const LIMITED = {
  ...LIMITS,
  requestsPerSecondMax: 100,
  requestsInFlightMax: 50,
  socketsMax: 10,
  subscriptionsPerSocketMax: 0,
}
const PASS = { kind: 'pass', limits: LIMITED, validUntilMs: null } as const
const NOTHING: Watched = {
  access: PASS,
  means: NO_MEANS,
  minutes: [],
  calls: new Map(),
  landings: new Map(),
  incidents: [],
  lags: [],
}

const minute = (ago: number, requests: number, errors: number) => ({
  network: 'main',
  location: 'fra',
  startMs: (Math.floor(NOW_MS / MINUTE_MS) - ago) * MINUTE_MS,
  requests,
  errors,
  rateLimited: 0,
  refused: 0,
})

const find = (
  watched: Partial<Watched>,
  rules: readonly AlertRule[] = DEFAULT_RULES,
): ReturnType<typeof findWarnings> =>
  findWarnings(rules, { ...NOTHING, ...watched }, NOW_MS, defaults)

const rule = (kind: WarningKind, more: Partial<AlertRule> = {}): readonly AlertRule[] => [
  { ...defaultRule(kind), ruleId: 'rule_1', isOn: true, ...more },
]

t.test('limits', async t => {
  const cases: [name: string, means: Partial<typeof NO_MEANS>, values: object | undefined][] = [
    ['none in use, and one of 0', {}, undefined],
    ['below', { requestsPerSecond: 79.9 }, undefined],
    [
      'at 80 %',
      { requestsPerSecond: 80 },
      { limit: 'requestsPerSecondMax', used: 80, max: 100, percent: 80, windowMs: 60_000 },
    ],
    ['the most used one', { requestsPerSecond: 80, sockets: 9 }, { limit: 'socketsMax', used: 9 }],
    [
      'over',
      { requestsInFlight: 55.55 },
      { limit: 'requestsInFlightMax', used: 55.6, percent: 111 },
    ],
  ]
  for (const [name, means, values] of cases)
    t.match(
      find({ means: { ...NO_MEANS, ...means } }),
      values === undefined ? [] : [{ kind: 'limit-near', network: null, location: null, values }],
      name,
    )
  t.equal(find({}).length, 0)
  const half = rule('limit-near', { threshold: 50 })
  t.match(find({ means: { ...NO_MEANS, sockets: 5 } }, half), [{ rule: 'rule_1' }])
  t.equal(find({ means: { ...NO_MEANS, sockets: 4.9 } }, half).length, 0)
})

t.test('errors', async t => {
  const quiet = Array.from({ length: 60 }, (_, index) => minute(index + 5, 10, 0))
  const cases: [name: string, minutes: ReturnType<typeof minute>[], kinds: number][] = [
    ['none', [minute(0, 1_000, 0)], 0],
    ['too few', [...quiet, minute(0, 19, 19)], 0],
    ['rising', [...quiet, minute(0, 100, 10), minute(4, 100, 10)], 1],
    ['too small a share', [...quiet, minute(0, 1_000, 99)], 0],
    ['older than the window', [...quiet, minute(5, 100, 100)], 0],
    ['as many before', [minute(0, 200, 20), minute(5, 100, 6), minute(64, 100, 6)], 0],
    ['twice as many', [minute(0, 200, 24), minute(5, 100, 6), minute(64, 100, 6)], 1],
    ['before the hour', [minute(0, 200, 24), minute(65, 100, 100)], 1],
  ]
  for (const [name, minutes, kinds] of cases) t.equal(find({ minutes }).length, kinds, name)
  t.strictSame(find({ minutes: [...quiet, minute(0, 100, 30)] }), [
    {
      rule: 'errors-rising',
      kind: 'errors-rising',
      network: 'main',
      location: 'fra',
      values: { errors: 30, requests: 100, percent: 30, percentBefore: 0, windowMs: 300_000 },
    },
  ])
  const always = rule('errors-rising', { onlyRising: false, windowMinutes: 30, countMin: 5 })
  const steady = [minute(0, 10, 1), minute(29, 40, 4), minute(30, 100, 50)]
  t.match(find({ minutes: steady }, always), [
    { rule: 'rule_1', values: { errors: 5, requests: 50, percentBefore: 50, windowMs: 1_800_000 } },
  ])
  const minutes = [minute(0, 50, 25), { ...minute(0, 50, 25), location: 'nyc' }]
  t.match(find({ minutes }), [{ location: 'fra' }, { location: 'nyc' }])
})

/** Calls of a method that took so long. */
const took = (method: string, ...times: number[]) => {
  const latencies = Array.from({ length: LATENCY_BUCKETS }, () => 0)
  for (const ms of times) latencies[bucketOf(ms)] = (latencies[bucketOf(ms)] ?? 0) + 1
  return { method, latencies }
}

t.test('p99', async t => {
  const calls = new Map([
    [5, [took('getSlot', 1, 1, 1), took('getBlock', 400)]],
    [15, [took('getSlot', 900)]],
  ])
  const cases: [name: string, more: Partial<AlertRule>, values: object | undefined][] = [
    ['all methods', { threshold: 300, countMin: 4 }, { requests: 4, threshold: 300 }],
    ['too few calls', { threshold: 300, countMin: 5 }, undefined],
    ['quick enough', { threshold: 500, countMin: 1 }, undefined],
    ['one method', { threshold: 300, countMin: 1, method: 'getBlock' }, { method: 'getBlock' }],
    ['another one', { threshold: 300, countMin: 1, method: 'getSlot' }, undefined],
    ['one that was not called', { threshold: 1, countMin: 1, method: 'getTps' }, undefined],
    ['another window', { threshold: 800, countMin: 1, windowMinutes: 15 }, { windowMs: 900_000 }],
    ['a window without calls', { threshold: 1, countMin: 1, windowMinutes: 60 }, undefined],
  ]
  for (const [name, more, values] of cases)
    t.match(
      find({ calls }, rule('p99-high', more)),
      values === undefined ? [] : [{ kind: 'p99-high', network: null, values }],
      name,
    )
  const [found] = find({ calls }, rule('p99-high', { threshold: 300, countMin: 1 }))
  const p99 = Number(found?.values['p99Ms'])
  t.ok(p99 >= 300 && p99 <= 500, `${p99} ms is in the bucket of 400 ms`)
})

t.test('landing rate', async t => {
  const landings = new Map([[60, { known: 40, landed: 15 }]])
  const cases: [name: string, more: Partial<AlertRule>, isFound: boolean][] = [
    ['below', {}, true],
    ['at the threshold', { threshold: 37 }, false],
    ['just below it', { threshold: 38 }, true],
    ['too few', { countMin: 41 }, false],
    ['another window', { windowMinutes: 360 }, false],
  ]
  for (const [name, more, isFound] of cases)
    t.equal(find({ landings }, rule('landing-rate-low', more)).length, Number(isFound), name)
  t.match(find({ landings }, rule('landing-rate-low')), [
    { values: { landed: 15, submissions: 40, percent: 37.5, windowMs: 3_600_000 } },
  ])
})

const incident = (more: Partial<IncidentView>): IncidentView => ({
  id: '1',
  location: 'fra',
  machine: null,
  reasons: ['behind', 'incomplete'],
  detail: '',
  startedAtMs: NOW_MS - 60_000,
  endedAtMs: null,
  ...more,
})

t.test('locations', async t => {
  const lag = (slots: number | null) => ({ network: 'main', location: 'nyc', slots })
  const cases: [name: string, watched: Partial<Watched>, values: object[]][] = [
    ['serve', { lags: [lag(99), lag(null)] }, []],
    ['one behind', { lags: [lag(100)] }, [{ slotsBehind: 100, threshold: 100 }]],
    ['an incident', { incidents: [incident({})] }, [{ states: 'behind, incomplete' }]],
    [
      'one that has just ended',
      { incidents: [incident({ endedAtMs: NOW_MS - 119_999 })] },
      [{ endedAtMs: NOW_MS - 119_999 }],
    ],
    ['one that ended before', { incidents: [incident({ endedAtMs: NOW_MS - 120_000 })] }, []],
    ['of no location', { incidents: [incident({ location: null })] }, []],
    [
      'several of one location, of which one lasts',
      { incidents: [incident({ endedAtMs: NOW_MS }), incident({ startedAtMs: 5 })] },
      [{ startedAtMs: 5, endedAtMs: undefined }],
    ],
    [
      'an incident of the one that is behind',
      { incidents: [incident({ location: 'nyc' })], lags: [lag(500)] },
      [{ states: 'behind, incomplete' }],
    ],
  ]
  for (const [name, watched, values] of cases) {
    const found = find(watched)
    t.match(
      found.map(one => one.values),
      values,
      name,
    )
    t.equal(found.length, values.length, name)
  }
})

t.test('rentals', async t => {
  const cases: [name: string, kind: 'pass' | 'rental', leftMs: number | null, isWarned: boolean][] =
    [
      ['no end', 'rental', null, false],
      ['later', 'rental', 3 * DAY_MS + 1, false],
      ['in three days', 'rental', 3 * DAY_MS, true],
      ['a pass', 'pass', 1, false],
    ]
  for (const [name, kind, leftMs, isWarned] of cases) {
    const validUntilMs = leftMs === null ? null : NOW_MS + leftMs
    const found = find({ access: { ...PASS, kind, validUntilMs } })
    t.match(found, isWarned ? [{ kind: 'rental-ending', values: { validUntilMs } }] : [], name)
    t.equal(found.length, isWarned ? 1 : 0, name)
  }
})

t.test(
  'rules that are off find nothing, and an access has a bounded number of warnings',
  async t => {
    const means = { ...NO_MEANS, sockets: 10 }
    t.equal(find({ means }, rule('limit-near', { isOn: false })).length, 0)
    t.equal(find({ means }, [{ ...defaultRule('limit-near'), kind: 'of-another-build' }]).length, 0)
    const many = Array.from({ length: 100 }, (_, index) => ({
      ...minute(0, 50, 50),
      location: `l${index}`,
    }))
    t.equal(find({ minutes: many }).length, defaults.warningsMax)
  },
)

t.test('a rule finds what its own sample says', async () => {
  const anyRule = fc.constantFrom(...WARNING_KINDS).chain(kind => {
    const { threshold, windows = [0], countMin = { min: 0, max: 0 }, hasMethod } = KINDS[kind]
    return fc.record({
      ruleId: fc.constant('rule_1'),
      kind: fc.constant(kind),
      isOn: fc.constant(true),
      threshold: fc.integer(threshold),
      windowMinutes: fc.constantFrom(...windows),
      countMin: fc.integer({ min: countMin.min, max: Math.min(countMin.max, 1_000) }),
      onlyRising: fc.constant(false),
      method: hasMethod === true ? fc.constantFrom('', 'getSlot') : fc.constant(''),
      webhooks: fc.constant(null),
      sendsResolved: fc.boolean(),
    })
  })
  fc.assert(
    fc.property(anyRule, one => {
      const access = { ...PASS, kind: 'rental' as const }
      const scope = { network: 'main', location: 'fra' }
      const sample = sampleOf(one, access, scope, NOW_MS, defaults)
      if (sample === undefined) return false
      const value = (name: string): number => Number(sample.values[name])
      const latencies = took('getSlot').latencies
      latencies[Math.min(LATENCY_BUCKETS - 1, bucketOf(one.threshold) + 1)] = one.countMin
      const watched: Watched = {
        access: { ...access, validUntilMs: value('validUntilMs') },
        means: { ...NO_MEANS, requestsPerSecond: value('used') },
        minutes: [minute(0, value('requests'), value('errors'))],
        calls: new Map([[one.windowMinutes, [{ method: 'getSlot', latencies }]]]),
        landings: new Map([[one.windowMinutes, { known: value('submissions'), landed: 0 }]]),
        incidents: [incident({ reasons: ['behind'], startedAtMs: NOW_MS })],
        lags: [],
      }
      const [found] = findWarnings([one], watched, NOW_MS, defaults)
      const names = (warning: typeof found) =>
        Object.keys(warning?.values ?? {})
          .toSorted()
          .join()
      return found?.location === sample.location && names(found) === names(sample)
    }),
    { numRuns: 300 },
  )
})
