import { LIMIT_NAMES } from '../../../shared/access-limits.js'
import { formatSeries } from '../../../shared/metrics.js'
import { parseCounts } from '../../../usage/add-rows.js'
import { lastOf, LATENCY_BUCKETS, startOf } from '../../../usage/latency.js'
import { columnOf, LANE_FIGURE_NAMES } from '../../../usage/schema.js'
import type { AccessFigures, MethodRow } from './figures.js'

type Labels = Readonly<Record<string, string>>

/** A metric with its series. */
type Family = {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly lines: readonly string[]
}

/** Methods of a network at a location, and codes of a method, that have series of their own. */
const METHODS_MAX = 128
const CODES_MAX = 16
const OTHER = 'other'

/** Buckets that the bounds of a histogram follow: each doubling from a quarter of a ms to 17 s. */
const LATENCY_ENDS = Array.from({ length: 17 }, (_, index) => 4 * (index + 5))
/** The same of whole numbers, by the last bucket that is within: slots, and milliseconds. */
const SLOT_ENDS = [0, 1, 2, 3, 7, 11, 15, 19, 23]
const DELAY_ENDS = [23, 27, 31, 35, 39, 43, 47, 51, 55]

type Bound = { readonly le: number; readonly isWithin: (bucket: number) => boolean }

const LATENCY_BOUNDS: readonly Bound[] = LATENCY_ENDS.map(end => ({
  le: startOf(end) / 1_000,
  isWithin: bucket => bucket < end,
}))
const boundsOf = (ends: readonly number[], unit: number): readonly Bound[] =>
  ends.map(end => ({ le: lastOf(end) / unit, isWithin: bucket => bucket <= end }))
const SLOT_BOUNDS = boundsOf(SLOT_ENDS, 1)
const DELAY_BOUNDS = boundsOf(DELAY_ENDS, 1_000)

/** The middle of a bucket: durations in seconds, and whole numbers. */
const middleSeconds = (bucket: number): number => (startOf(bucket) + startOf(bucket + 1)) / 2_000
const middleOf = (bucket: number): number => (lastOf(bucket - 1) + 1 + lastOf(bucket)) / 2

type Buckets = ReadonlyMap<number, number>

const addBuckets = (all: readonly string[]): Buckets => {
  const sums = new Map<number, number>()
  for (const one of all)
    for (const [bucket, count] of Object.entries(parseCounts(one)))
      sums.set(Number(bucket), (sums.get(Number(bucket)) ?? 0) + count)
  return sums
}

const histogram = (
  name: string,
  labels: Labels,
  buckets: Buckets,
  {
    bounds,
    middle,
  }: { readonly bounds: readonly Bound[]; readonly middle: (bucket: number) => number },
): readonly string[] => {
  const all = [...buckets]
  const sum = (isWithin: (bucket: number) => boolean): number =>
    all.reduce((total, [bucket, count]) => total + (isWithin(bucket) ? count : 0), 0)
  const total = sum(bucket => bucket < LATENCY_BUCKETS)
  return [
    ...bounds.map(({ isWithin, le }) =>
      formatSeries(`${name}_bucket`, { ...labels, le: String(le) }, sum(isWithin)),
    ),
    formatSeries(`${name}_bucket`, { ...labels, le: '+Inf' }, total),
    formatSeries(
      `${name}_sum`,
      labels,
      all.reduce((seconds, [bucket, count]) => seconds + middle(bucket) * count, 0),
    ),
    formatSeries(`${name}_count`, labels, total),
  ]
}

/** The rows by a key of theirs, in the order of the keys. */
const groupBy = <R>(rows: readonly R[], keyOf: (row: R) => Labels) => {
  const groups = new Map<string, { readonly labels: Labels; readonly rows: R[] }>()
  for (const row of rows) {
    const labels = keyOf(row)
    const key = JSON.stringify(Object.values(labels))
    const group = groups.get(key) ?? { labels, rows: [] }
    groups.set(key, group)
    group.rows.push(row)
  }
  return [...groups].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, group]) => group)
}

type Method = { readonly labels: Labels; readonly rows: readonly MethodRow[] }

const scopeOf = ({ network, location }: MethodRow): Labels => ({ network, location })

/** The methods of each network at each location; those beyond the bound are one. */
const methodsOf = (rows: readonly MethodRow[]): readonly Method[] =>
  groupBy(rows, scopeOf).flatMap(({ labels, rows: ofScope }) => {
    const names = ofScope.map(({ method }) => method).toSorted()
    const named = new Set(names.slice(0, METHODS_MAX))
    return groupBy(ofScope, ({ method }) => ({
      ...labels,
      method: named.has(method) ? method : OTHER,
    }))
  })

const sumOf = (rows: readonly MethodRow[], name: 'requests' | 'errors' | 'rateLimited'): number =>
  rows.reduce((sum, row) => sum + row[name], 0)

/** Errors by code; those without a count of their own, and beyond the bound, are of one. */
const errorsOf = (name: string, { labels, rows }: Method): readonly string[] => {
  const codes = [...addBuckets(rows.map(row => row.codes))].toSorted(
    ([one], [other]) => one - other,
  )
  const named = codes.slice(0, CODES_MAX)
  const others = sumOf(rows, 'errors') - named.reduce((sum, [, count]) => sum + count, 0)
  const all = [...named.map(([code, count]) => [String(code), count] as const)]
  if (others > 0) all.push([OTHER, others])
  return all.map(([code, count]) => formatSeries(name, { ...labels, code }, count))
}

const requestFamilies = ({ methods, overLimit }: AccessFigures): readonly Family[] => {
  const all = methodsOf(methods)
  const [requests, errors] = ['slotline_access_requests_total', 'slotline_access_errors_total']
  const limited = 'slotline_access_rate_limited_total'
  const seconds = 'slotline_access_request_seconds'
  const over = 'slotline_access_over_limit_total'
  return [
    {
      ...{ name: requests, type: 'counter', help: 'Requests, with those that failed' },
      lines: all.map(({ labels, rows }) => formatSeries(requests, labels, sumOf(rows, 'requests'))),
    },
    {
      ...{ name: errors, type: 'counter', help: 'Requests that failed, but for 429, by code' },
      lines: all.flatMap(method => errorsOf(errors, method)),
    },
    {
      ...{ name: limited, type: 'counter', help: 'Requests that were answered 429' },
      lines: all.map(({ labels, rows }) =>
        formatSeries(limited, labels, sumOf(rows, 'rateLimited')),
      ),
    },
    {
      ...{ name: over, type: 'counter', help: 'Requests over each limit, two seconds late' },
      lines: LIMIT_NAMES.map(limit => formatSeries(over, { limit }, overLimit[limit])),
    },
    {
      ...{ name: seconds, type: 'histogram' },
      help: 'Server-side latency of requests; its sum is of the middles of buckets, within an eighth',
      lines: groupBy(methods, scopeOf).flatMap(({ labels, rows }) =>
        histogram(seconds, labels, addBuckets(rows.map(row => row.latencies)), {
          ...{ bounds: LATENCY_BOUNDS, middle: middleSeconds },
        }),
      ),
    },
  ]
}

const submissionFamilies = ({ submissions }: AccessFigures): readonly Family[] => {
  const total = 'slotline_access_submissions_total'
  const [slots, seconds] = ['slotline_access_landing_slots', 'slotline_access_landing_seconds']
  const routes = groupBy(submissions, ({ network, location, route }) => ({
    ...{ network, location, route },
  }))
  return [
    {
      ...{ name: total, type: 'counter', help: 'Submissions whose end is known, by what it is' },
      lines: submissions.flatMap(({ network, location, route, lane, ...row }) =>
        LANE_FIGURE_NAMES.map(state =>
          formatSeries(
            total,
            { network, location, route, lane, state: columnOf(state) },
            row[state],
          ),
        ),
      ),
    },
    {
      ...{
        name: slots,
        type: 'histogram',
        help: 'Slots from receipt to block of those that landed',
      },
      lines: routes.flatMap(({ labels, rows }) =>
        histogram(slots, labels, addBuckets(rows.map(row => row.slots)), {
          ...{ bounds: SLOT_BOUNDS, middle: middleOf },
        }),
      ),
    },
    {
      ...{ name: seconds, type: 'histogram', help: 'The same in seconds' },
      lines: routes.flatMap(({ labels, rows }) =>
        histogram(seconds, labels, addBuckets(rows.map(row => row.delays)), {
          ...{ bounds: DELAY_BOUNDS, middle: bucket => middleOf(bucket) / 1_000 },
        }),
      ),
    },
  ]
}

const USE = {
  requestsInFlight: 'Requests in flight',
  requestsLastSecond: 'Requests in the last second',
  sockets: 'Open WebSockets',
  subscriptions: 'Subscriptions',
  subscriptionsOfSocket: 'Subscriptions of the WebSocket that has the most',
} as const

const useFamilies = ({ limits, use }: AccessFigures): readonly Family[] => {
  const limit = 'slotline_access_limit'
  const names = Object.keys(USE) as (keyof typeof USE)[]
  return [
    ...names.map((figure): Family => {
      const name = `slotline_access_${columnOf(figure)}`
      return {
        ...{ name, type: 'gauge', help: USE[figure] },
        lines: [formatSeries(name, {}, use[figure])],
      }
    }),
    {
      ...{ name: limit, type: 'gauge', help: 'Limits of the access' },
      lines: LIMIT_NAMES.map(one => formatSeries(limit, { limit: one }, limits[one])),
    },
  ]
}

/** Of one access, in Prometheus' text format. Counters begin on Monday, 00:00 UTC. */
export const formatAccessMetrics = (figures: AccessFigures): string => {
  const families = [
    ...requestFamilies(figures),
    ...useFamilies(figures),
    ...submissionFamilies(figures),
  ]
  const lines = families.flatMap(({ name, type, help, lines: series }) => [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...series,
  ])
  return `${lines.join('\n')}\n`
}
