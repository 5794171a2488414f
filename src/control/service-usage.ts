import type { ServiceUsage, TopQuery } from '../dashboard/api/operator/service.js'
import { addUp, toSummary } from '../usage/performance.js'
import { ROWS_MAX, type RowOf } from '../usage/queries.js'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../usage/scope.js'
import { missingOf, readRange, refusalsOf, type Ask } from './usage.js'

/** Methods in one answer: each access has its own, and a client can make up names. */
const METHODS_MAX = 100
/** Hours by access are kept a day longer. */
const HOURS_MS = 8 * DAY_MS
/** Accesses in one question to the other machines: what they are asked has 768 bytes at most. */
const IDS_MAX = 24

/** Whole hours of a time, counted since 1970: those that have some of it. */
const hoursOf = (fromMs: number, untilMs: number) => ({
  first: Math.floor(fromMs / HOUR_MS),
  until: Math.ceil(untilMs / HOUR_MS),
})

const compare = (one: string, other: string): number => (one < other ? -1 : Number(one > other))

/** Asks about some accesses at a time. */
const askInParts = async <A>(
  all: readonly string[],
  ask: (json: string) => Promise<A>,
): Promise<readonly A[]> => {
  const parts = Array.from({ length: Math.ceil(all.length / IDS_MAX) }, (_, nth) =>
    all.slice(nth * IDS_MAX, (nth + 1) * IDS_MAX),
  )
  return Promise.all(parts.map(part => ask(JSON.stringify(part))))
}

/** Where a page begins: after an access with a value. */
const isAfter = (after: TopQuery['after'], value: number, accessId: string): boolean =>
  after === undefined ||
  value < after.value ||
  (value === after.value && compare(accessId, after.accessId) > 0)

const readTop = async (
  ask: Ask,
  { after, by, count, fromMs, untilMs }: TopQuery,
  locations: readonly string[],
  nowMs: number,
) => {
  const isByHour = fromMs >= nowMs - HOURS_MS && untilMs - fromMs <= HOURS_MS
  const lengthMs = isByHour ? HOUR_MS : DAY_MS
  const [first, until] = [Math.floor(fromMs / lengthMs), Math.ceil(untilMs / lengthMs)]
  const found = await ask('top', [lengthMs / MINUTE_MS, first, until, by], locations)
  const rows = found.rows
    .toSorted((one, other) => other[by] - one[by] || compare(one.accessId, other.accessId))
    .slice(0, ROWS_MAX)
    .filter(row => isAfter(after, row[by], row.accessId))
  const shown = rows.slice(0, count)
  const ids = shown.map(({ accessId }) => accessId)
  const [times, hours] = [
    { fromMs: first * lengthMs, untilMs: until * lengthMs },
    hoursOf(first * lengthMs, until * lengthMs),
  ]
  const periods = [lengthMs / MINUTE_MS, first, until] as const
  const [refused, ended] = await Promise.all([
    askInParts(ids, json => ask('overLimit', [json, ...periods], locations)),
    askInParts(ids, json => ask('ends', [json, hours.first, hours.until], locations)),
  ])
  const refusals = refused.flatMap(({ rows: some }) => some)
  const ends = ended.flatMap(({ rows: some }) => some)
  const toView = (row: RowOf<'top'>) => ({
    ...row,
    overLimit: refusalsOf(refusals.filter(({ accessId }) => accessId === row.accessId)),
    submissions: addUp(ends.filter(({ accessId }) => accessId === row.accessId)),
  })
  const last = rows.length > count ? shown.at(-1) : undefined
  return {
    ...times,
    accesses: shown.map(toView),
    next: last === undefined ? null : `${last[by]}-${last.accessId}`,
    ...missingOf(found, ...refused, ...ended),
  }
}

/** Usage of the whole service, of all machines: sums, which do not grow with the accesses. */
export const createServiceUsage = (
  ask: Ask,
  locations: readonly string[],
  now: () => number,
): ServiceUsage => ({
  ofRange: async times => {
    const { fromMs, untilMs } = times
    const any = { network: '', location: '', ...times }
    const [range, ended] = await Promise.all([
      readRange(ask, '', any, locations),
      ask('landing', ['', fromMs, untilMs, 0], locations),
    ])
    return {
      ...range,
      methods: range.methods.slice(0, METHODS_MAX),
      submissions: {
        fromMs,
        untilMs,
        ...toSummary(ended.rows, []).total,
      },
      ...missingOf(range, ended),
    }
  },
  top: query => readTop(ask, query, locations, now()),
})
