import { parseCounts } from './add-rows.js'
import { lastOf } from './latency.js'
import type { RowOf } from './queries.js'
import { LANE_FIGURE_NAMES, type LaneFigures } from './schema.js'
import { HOUR_MS } from './scope.js'

/**
 * Lowest tips of the bands, in lamports. 10,000, 100,000 and 1,000,000 are floors that senders ask
 * for by tier of a key; who pays more competes for the place in a block. `none` is a band, because
 * some senders take no tips.
 */
export const TIP_BANDS = [0, 1, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000] as const

/** The lowest tip of the band of a tip. */
export const tipBandOf = (lamports: number): number =>
  TIP_BANDS.findLast(from => lamports >= from) ?? 0

const untilOf = (from: number): number | null => TIP_BANDS.find(next => next > from) ?? null

/** A count that a share of the submissions had at most: at most a quarter too high. */
export type Shares = { readonly p50: number; readonly p90: number; readonly p99: number }

/** How submissions went, and after how long those landed that did; null where none did. */
export type Performance = LaneFigures & {
  readonly sent: number
  /** Of those whose end is known; null where none is. */
  readonly landingRate: number | null
  readonly delaySlots: Shares | null
  readonly delayMs: Shares | null
}

/** The same by tip. */
export type TipPerformance = Performance & {
  readonly tipFromLamports: number
  /** Null of the highest band. */
  readonly tipUntilLamports: number | null
}

/** One lane in one period. `lane` is null where several had them, or it is not known which. */
export type LanePerformance = Performance & {
  readonly network: string
  readonly lane: string | null
  readonly startMs: number
  readonly tips: readonly TipPerformance[]
}

type Row = RowOf<'lanes'>
/** What `addUp` takes of a row. */
type Counted = LaneFigures & Pick<Row, 'slots' | 'delays'>

/** Of the buckets of some rows. */
const sharesOf = (all: readonly string[]): Shares | null => {
  const counts = new Map<number, number>()
  for (const one of all)
    for (const [bucket, count] of Object.entries(parseCounts(one)))
      counts.set(Number(bucket), (counts.get(Number(bucket)) ?? 0) + count)
  const buckets = [...counts].toSorted(([one], [other]) => one - other)
  const total = buckets.reduce((sum, [, count]) => sum + count, 0)
  if (total === 0) return null
  const at = (share: number): number => {
    let rank = Math.ceil(share * total)
    for (const [bucket, count] of buckets) {
      rank -= count
      if (rank <= 0) return lastOf(bucket)
    }
    return 0
  }
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99) }
}

/** How the submissions of some rows went together. */
export const addUp = (rows: readonly Counted[]): Performance => {
  const sum = (name: keyof LaneFigures): number => rows.reduce((all, row) => all + row[name], 0)
  const figures = Object.fromEntries(
    LANE_FIGURE_NAMES.map(name => [name, sum(name)]),
  ) as LaneFigures
  const sent = Object.values(figures).reduce((all, count) => all + count, 0)
  const known = sent - figures.unseen
  return {
    sent,
    ...figures,
    landingRate: known === 0 ? null : Math.round((figures.landed / known) * 10_000) / 10_000,
    delaySlots: sharesOf(rows.map(({ slots }) => slots)),
    delayMs: sharesOf(rows.map(({ delays }) => delays)),
  }
}

const compare = (one: string | number, other: string | number): number =>
  one < other ? -1 : Number(one > other)

/** In the order of networks, lanes and periods, those of several lanes last. */
const inOrder = (one: Row, other: Row): number =>
  compare(one.network, other.network) ||
  Number(one.lane === '') - Number(other.lane === '') ||
  compare(one.lane, other.lane) ||
  one.startMs - other.startMs ||
  one.tips - other.tips

/** The rows of each lane in each period, one for each band. */
export const groupsOf = (rows: readonly Row[]): readonly (readonly Row[])[] => {
  const groups = new Map<string, Row[]>()
  for (const row of rows.toSorted(inOrder)) {
    const key = [row.network, row.lane, row.startMs].join('\0')
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [row])
    else group.push(row)
  }
  return [...groups.values()]
}

/** One lane in one period. */
export const toLane = (group: readonly Row[]): LanePerformance => {
  const { lane = '', network = '', startMs = 0 } = group[0] ?? {}
  const tips = group.map(row => ({
    tipFromLamports: row.tips,
    tipUntilLamports: untilOf(row.tips),
    ...addUp([row]),
  }))
  return { network, lane: lane === '' ? null : lane, startMs, ...addUp(group), tips }
}

/** Each lane in each period. */
export const toPerformance = (rows: readonly Row[]): readonly LanePerformance[] =>
  groupsOf(rows).map(toLane)

/**
 * The last hours with this one, counted since 1970, from the start of the first of periods of so
 * many hours.
 */
export const lastHours = (
  hours: number,
  periodHours: number,
  nowMs: number,
): { readonly from: number; readonly until: number } => {
  const until = Math.floor(nowMs / HOUR_MS) + 1
  return { from: Math.floor((until - hours) / periodHours) * periodHours, until }
}

/** How submissions of an access went; tips are of those that landed. */
export type SubmissionFigures = Performance & { readonly tippedLamports: number }

/** The same of what was sent through one thing. */
export type NamedFigures = SubmissionFigures & { readonly name: string }

/** How the submissions of an access went in a time. */
export type SubmissionSummary = {
  readonly total: SubmissionFigures
  readonly routes: readonly NamedFigures[]
  readonly locations: readonly NamedFigures[]
  /** Those that several lanes of a race had have an empty name. */
  readonly lanes: readonly NamedFigures[]
  readonly periods: readonly (SubmissionFigures & { readonly startMs: number })[]
}

type SubmissionRow = RowOf<'landing'>

const toFigures = (rows: readonly SubmissionRow[]): SubmissionFigures => ({
  ...addUp(rows),
  tippedLamports: rows.reduce((sum, { tipped }) => sum + tipped, 0),
})

/** Those that were sent most come first. */
const groupBy = (
  rows: readonly SubmissionRow[],
  key: 'route' | 'location' | 'lane',
): readonly NamedFigures[] => {
  const groups = new Map<string, SubmissionRow[]>()
  for (const row of rows) groups.set(row[key], [...(groups.get(row[key]) ?? []), row])
  return [...groups]
    .map(([name, group]) => ({ name, ...toFigures(group) }))
    .toSorted((one, other) => other.sent - one.sent || compare(one.name, other.name))
}

/** From the rows of all together, and of each period. */
export const toSummary = (
  rows: readonly SubmissionRow[],
  periods: readonly SubmissionRow[],
): SubmissionSummary => ({
  total: toFigures(rows),
  routes: groupBy(rows, 'route'),
  locations: groupBy(rows, 'location'),
  lanes: groupBy(rows, 'lane'),
  periods: periods.map(row => ({ startMs: row.startMs, ...toFigures([row]) })),
})
