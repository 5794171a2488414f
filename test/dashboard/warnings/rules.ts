import t from 'tap'
import { defaults } from '../../../src/dashboard/warnings/options.js'
import { findWarnings } from '../../../src/dashboard/warnings/rules.js'
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

const minute = (ago: number, requests: number, errors: number) => ({
  startMs: (Math.floor(NOW_MS / MINUTE_MS) - ago) * MINUTE_MS,
  requests,
  errors,
  rateLimited: 0,
  refused: 0,
})

const find = (
  parts: Partial<Parameters<typeof findWarnings>[0]>,
): ReturnType<typeof findWarnings> =>
  findWarnings({ access: PASS, means: NO_MEANS, places: [], ...parts }, NOW_MS, defaults)

const place = (...minutes: ReturnType<typeof minute>[]) => ({
  places: [{ network: 'main', location: 'fra', minutes }],
})

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
})

t.test('errors', async t => {
  const quiet = Array.from({ length: 60 }, (_, index) => minute(index + 5, 10, 0))
  const cases: [name: string, given: ReturnType<typeof place>, kinds: number][] = [
    ['none', place(minute(0, 1_000, 0)), 0],
    ['too few', place(...quiet, minute(0, 19, 19)), 0],
    ['rising', place(...quiet, minute(0, 100, 10), minute(4, 100, 10)), 1],
    ['too small a share', place(...quiet, minute(0, 1_000, 99)), 0],
    ['older than the window', place(...quiet, minute(5, 100, 100)), 0],
    ['as many before', place(minute(0, 200, 20), minute(5, 100, 6), minute(64, 100, 6)), 0],
    ['twice as many', place(minute(0, 200, 24), minute(5, 100, 6), minute(64, 100, 6)), 1],
    ['before the hour', place(minute(0, 200, 24), minute(65, 100, 100)), 1],
  ]
  for (const [name, given, kinds] of cases) t.equal(find(given).length, kinds, name)
  t.strictSame(find(place(...quiet, minute(0, 100, 30))), [
    {
      kind: 'errors-rising',
      network: 'main',
      location: 'fra',
      values: { errors: 30, requests: 100, percent: 30, percentBefore: 0, windowMs: 300_000 },
    },
  ])
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
