import * as v from 'valibot'
import { addRows, type Rule } from './add-rows.js'
import { FAILURE_ORIGINS } from './calls.js'
import {
  columnOf,
  LANE_FIGURE_NAMES,
  METHOD_FIGURE_NAMES,
  MINUTE_FIGURES,
  RECENT_MAX,
} from './schema.js'

/** Rows in one answer of a machine: less than 2 MB. */
export const ROWS_MAX = 5_000

/** What is in the store, and what edges have counted since, each by its own indexes. */
const both = (arm: (schema: 'main' | 'temp') => string): string =>
  `(SELECT * FROM (${arm('main')}) UNION ALL SELECT * FROM (${arm('temp')}))`

const from = (table: string, where: string, columns = '*') =>
  both(schema => `SELECT ${columns} FROM ${schema}.${table} WHERE ${where}`)

const list = (names: readonly string[]): string => names.join(', ')

const sums = (figures: readonly string[]): string =>
  figures.map(figure => `sum(${columnOf(figure)}) AS ${figure}`).join(', ')

const count = v.pipe(v.number(), v.minValue(0))
const text = v.string()
const counts = v.pipe(v.string(), v.regex(/^\{["\d:,-]*\}$/))
const SCOPE = '?1 = access AND ?2 = network AND ?3 = location'
/** The same, where an empty text is any. */
const ANY_SCOPE = "?1 = access AND ?2 IN ('', network) AND ?3 IN ('', location)"

/** Access, what of it, method, code, location, address, origin, from, until; '' for any. */
const FAILURES = `?1 = access AND at_ms >= ?8 AND at_ms < ?9 AND (?3 = '' OR method = ?3)
  AND (?4 = '' OR code = ?4) AND (?5 = '' OR location = ?5) AND (?6 = '' OR address = ?6)
  AND (?7 = '' OR origin = ?7)`

const CALLS = `method, ${METHOD_FIGURE_NAMES.map(columnOf).join(', ')}, codes, latencies`

const OF_IDS = 'access IN (SELECT value FROM json_each(?1))'

/** Figures that are shown; `unlisted` is that of the list of failures. */
const SHOWN = MINUTE_FIGURES.filter(figure => figure !== 'unlisted')

const figures = <const N extends string>(names: readonly N[]): Record<N, typeof count> =>
  Object.fromEntries(names.map(name => [name, count])) as Record<N, typeof count>

const place = { network: text, location: text }
const minuteFigures = figures(SHOWN)
const methodFigures = figures(METHOD_FIGURE_NAMES)

type Question<S extends v.GenericSchema> = {
  /** Over `main`, the store, and `temp`, what it lacks; absent if a row is not in it. */
  readonly sql?: string
  readonly row: S
  /** How the rows of machines are added up. */
  readonly add: Rule
  /** The accesses that it is about, by its parameters; none: all. */
  readonly accesses?: (parameters: readonly Parameter[]) => readonly string[]
}

export type Parameter = string | number

const first = ([access = '']: readonly Parameter[]): readonly string[] => [String(access)]
const all = (): readonly string[] => []
const ofIds = ([ids]: readonly Parameter[]): readonly string[] =>
  JSON.parse(String(ids)) as string[]

const question = <S extends v.GenericSchema>(asked: Question<S>): Question<S> => asked

/**
 * Whatever is asked of the usage of a machine: parameters are ?1 and so on. Minutes, hours and days
 * are counted since 1970; days are of UTC.
 */
export const QUESTIONS = {
  /** Access, network, location, first minute and end: the minutes with counts. */
  minutes: question({
    sql: `SELECT minute * 60000 AS startMs, ${sums(SHOWN)}
      FROM ${from('minute', `${SCOPE} AND minute >= ?4 AND minute < ?5`)} GROUP BY minute`,
    row: v.object({ startMs: count, ...minuteFigures }),
    add: { by: ['startMs'], sum: SHOWN, order: 'startMs' },
  }),
  /** Access, first minute and end: the minutes of each network and location. */
  recent: question({
    sql: `SELECT network, location, minute * 60000 AS startMs, ${sums(SHOWN)}
      FROM ${from('minute', '?1 = access AND minute >= ?2 AND minute < ?3')}
      GROUP BY network, location, minute`,
    row: v.object({ ...place, startMs: count, ...minuteFigures }),
    add: { by: ['network', 'location', 'startMs'], sum: SHOWN, order: 'startMs' },
  }),
  /**
   * Access, network and location, or empty texts for any, from and until in Unix milliseconds,
   * length of a period.
   */
  periods: question({
    sql: `SELECT at_ms / ?6 * ?6 AS startMs, ${sums(SHOWN)} FROM (
        SELECT *, minute * 60000 AS at_ms FROM
          ${from('minute', `${ANY_SCOPE} AND minute >= ?4 / 60000 AND minute <= ?5 / 60000`)}
        UNION ALL
        SELECT *, hour * 3600000 AS at_ms FROM main.hour
          WHERE ${ANY_SCOPE} AND ?6 > 60000 AND hour >= ?4 / 3600000 AND hour <= ?5 / 3600000
      ) WHERE at_ms >= ?4 AND at_ms < ?5 GROUP BY startMs`,
    row: v.object({ startMs: count, ...minuteFigures }),
    add: { by: ['startMs'], sum: SHOWN, order: 'startMs' },
  }),
  /** As `periods`; then 1 by method, 0 by period. Hours are in the period in which they begin. */
  calls: question({
    sql: `SELECT iif(?7 = 0, at_ms / ?6 * ?6, 0) AS startMs, iif(?7 = 0, '', method) AS method,
        ${sums(METHOD_FIGURE_NAMES)}, sum_counts(codes) AS codes, sum_counts(latencies) AS latencies
      FROM (
        SELECT ${CALLS}, minute * 60000 AS at_ms FROM main.method_minute
          WHERE ${ANY_SCOPE} AND minute >= ?4 / 60000 AND minute <= ?5 / 60000
        UNION ALL
        SELECT ${CALLS}, hour * 3600000 AS at_ms FROM main.method_hour
          WHERE ${ANY_SCOPE} AND hour >= ?4 / 3600000 AND hour <= ?5 / 3600000
        UNION ALL
        SELECT ${CALLS}, minute * 60000 AS at_ms FROM temp.method_day WHERE ${ANY_SCOPE}
      ) WHERE at_ms >= ?4 AND at_ms < ?5 GROUP BY 1, 2`,
    row: v.object({
      startMs: count,
      method: text,
      ...methodFigures,
      codes: counts,
      latencies: counts,
    }),
    add: {
      by: ['startMs', 'method'],
      sum: METHOD_FIGURE_NAMES,
      counts: ['codes', 'latencies'],
      order: 'startMs',
    },
  }),
  /** Access, network, location: since when all minutes are kept. */
  reduced: question({
    sql: `SELECT coalesce(max(hour) + 1, 0) * 3600000 AS minutesFromMs FROM main.hour
      WHERE ${ANY_SCOPE}`,
    row: v.object({ minutesFromMs: count }),
    add: { by: [], max: ['minutesFromMs'] },
  }),
  /** Access, network, location, first day and end: what was done with each method. */
  methods: question({
    sql: `WITH RECURSIVE days(n) AS (SELECT ?4 UNION ALL SELECT n + 1 FROM days WHERE n + 1 < ?5)
      SELECT method, ${sums(METHOD_FIGURE_NAMES)},
        sum_counts(codes) AS codes, sum_counts(latencies) AS latencies
      FROM ${both(
        schema => `SELECT counted.* FROM days CROSS JOIN ${schema}.method_day AS counted
          ON day = n AND ${SCOPE}`,
      )} GROUP BY method`,
    row: v.object({ method: text, ...methodFigures, codes: counts, latencies: counts }),
    add: {
      by: ['method'],
      sum: METHOD_FIGURE_NAMES,
      counts: ['codes', 'latencies'],
      order: 'requests',
      isNewestFirst: true,
    },
  }),
  /** Access, the most that are wanted, filters (`FAILURES`): failed requests, newest first. */
  failures: question({
    sql: `SELECT at_ms AS atMs, network, location, method, code, text, origin, address, request,
        bytes, elapsed_us / 1000.0 AS elapsedMs, slot, params
      FROM ${from('failure', `${FAILURES} ORDER BY at_ms DESC LIMIT ?2`)}
      ORDER BY at_ms DESC LIMIT ?2`,
    row: v.object({
      atMs: count,
      network: text,
      location: text,
      method: text,
      code: v.number(),
      text,
      origin: v.picklist(FAILURE_ORIGINS),
      address: text,
      // Absent of a machine with an earlier build.
      request: v.optional(text, ''),
      bytes: v.nullish(count, null),
      elapsedMs: v.nullish(count, null),
      slot: v.nullish(count, null),
      params: v.optional(text, ''),
    }),
    add: { order: 'atMs', isNewestFirst: true },
  }),
  /** Access, the most groups, filters (`FAILURES`): failed requests that are alike. */
  failureGroups: question({
    sql: `SELECT method, code, origin, address, count(*) AS count, max(at_ms) AS lastMs
      FROM ${from('failure', FAILURES)}
      GROUP BY method, code, origin, address ORDER BY count DESC LIMIT ?2`,
    row: v.object({
      method: text,
      code: v.number(),
      origin: v.picklist(FAILURE_ORIGINS),
      address: text,
      count,
      lastMs: count,
    }),
    add: {
      by: ['method', 'code', 'origin', 'address'],
      sum: ['count'],
      max: ['lastMs'],
      order: 'count',
      isNewestFirst: true,
    },
  }),
  /** Access and the first minute: failed requests that were not listed. */
  unlisted: question({
    sql: `SELECT coalesce(sum(unlisted), 0) AS leftOut
      FROM ${from('minute', '?1 = access AND minute >= ?2')}`,
    row: v.object({ leftOut: count }),
    add: { by: [], sum: ['leftOut'] },
  }),
  /** Access, network, location and a time: refused attempts since then. */
  refused: question({
    sql: `SELECT at_ms AS atMs, address, reason
      FROM ${from('refused', `${SCOPE} AND at_ms >= ?4 ORDER BY at_ms DESC LIMIT ${RECENT_MAX}`)}`,
    row: v.object({ atMs: count, address: text, reason: text }),
    add: { order: 'atMs', isNewestFirst: true, max: [] },
  }),
  /** Access, network, location and a time: addresses that were admitted since then. */
  clients: question({
    sql: `SELECT address, max(seen_ms) AS lastSeenMs
      FROM ${from('client', `${SCOPE} AND seen_ms >= ?4`)} GROUP BY address`,
    row: v.object({ address: text, lastSeenMs: count }),
    add: { by: ['address'], max: ['lastSeenMs'], order: 'lastSeenMs', isNewestFirst: true },
  }),
  /** Access, network, location, a time and the present day: attempts with former tokens. */
  replaced: question({
    sql: `SELECT tail, address, max(seen_ms) AS lastSeenMs,
        sum(CASE day WHEN ?5 THEN attempts ELSE 0 END) AS today
      FROM ${from('replaced', `${SCOPE} AND seen_ms >= ?4`)} GROUP BY tail, address`,
    row: v.object({ tail: text, address: text, lastSeenMs: count, today: count }),
    add: {
      by: ['tail', 'address'],
      max: ['lastSeenMs'],
      sum: ['today'],
      order: 'lastSeenMs',
      isNewestFirst: true,
    },
  }),
  /** Access and a minute: admitted requests of each minute from it on. */
  rate: question({
    sql: `SELECT minute, sum(requests - rate_limited) AS admitted
      FROM ${from('minute', '?1 = access AND minute >= ?2')} GROUP BY minute`,
    row: v.object({ minute: count, admitted: v.number() }),
    add: { by: ['minute'], sum: ['admitted'] },
  }),
  /** Ids of accesses as JSON, and the present minute: the last 24 hours, and how long ago. */
  traffic: question({
    sql: `SELECT access AS accessId, network, location, (?2 - minute) / 60 AS ago, ${sums(SHOWN)}
      FROM ${from('minute', `${OF_IDS} AND minute > ?2 - 1440`)}
      GROUP BY access, network, location, ago`,
    row: v.object({ accessId: text, network: text, location: text, ago: count, ...minuteFigures }),
    add: { by: ['accessId', 'network', 'location', 'ago'], sum: SHOWN },
    accesses: ofIds,
  }),
  /** Ids of accesses as JSON: whether any has sent a request, and landed a submission. */
  steps: question({
    sql: `SELECT EXISTS (SELECT 1 FROM ${from('minute', `${OF_IDS} AND requests > 0 LIMIT 1`)})
          OR EXISTS (SELECT 1 FROM main.hour WHERE ${OF_IDS} AND requests > 0) AS called,
        EXISTS (SELECT 1 FROM main.submission_hour WHERE ${OF_IDS} AND landed > 0) AS landed`,
    row: v.object({ called: count, landed: count }),
    add: { by: [], max: ['called', 'landed'] },
    accesses: ofIds,
  }),
  /** Key of the access and two quarter-hours: the highest rates after the first, refusals. */
  peaks: question({
    sql: `SELECT quarter * 900000 AS startMs, per_second AS perSecond, at_ms AS atMs, refusals
      FROM main.peak WHERE access = ?1 AND quarter > ?2 AND quarter <= ?3`,
    row: v.object({ startMs: count, perSecond: count, atMs: count, refusals: counts }),
    // Machines may have their peaks in different seconds: the sum is not less than the real one.
    add: {
      by: ['startMs'],
      withMost: ['perSecond', 'atMs'],
      sum: ['perSecond'],
      counts: ['refusals'],
      order: 'startMs',
    },
  }),
  /** The first and last day that have counts by method. */
  days: question({
    sql: `SELECT coalesce(min(first), 0) AS first, coalesce(max(last), -1) AS last
      FROM ${both(
        schema => `SELECT (SELECT min(day) FROM ${schema}.method_day) AS first,
          (SELECT max(day) FROM ${schema}.method_day) AS last`,
      )} WHERE first IS NOT NULL`,
    row: v.object({ first: v.number(), last: v.number() }),
    add: {},
    accesses: all,
  }),
  /** Day, access or an empty text, then the key that is before the first row. */
  dayRows: question({
    sql: `SELECT access AS accessId, network, location, method, ${sums(METHOD_FIGURE_NAMES)}
      FROM ${from(
        'method_day',
        `day = ?1 AND (?2 = '' OR access = ?2)
          AND (access, network, location, method) > (?3, ?4, ?5, ?6)`,
      )}
      GROUP BY access, network, location, method
      ORDER BY access, network, location, method LIMIT ${ROWS_MAX}`,
    row: v.object({ accessId: text, ...place, method: text, ...methodFigures }),
    add: { by: ['accessId', 'network', 'location', 'method'], sum: METHOD_FIGURE_NAMES },
    accesses: ([, access = '']) => (access === '' ? [] : [String(access)]),
  }),
  /**
   * Access, or an empty text for all; network and lane, or empty texts; first hour and end; 1 for
   * each hour, 0 for all together: what became of submissions by lane and lowest tip of the band.
   */
  lanes: question({
    sql: `SELECT network, lane, tips, ?6 * hour * 3600000 AS startMs, ${sums(LANE_FIGURE_NAMES)},
        sum_counts(slots) AS slots, sum_counts(delays) AS delays
      FROM main.submission_hour
      WHERE access = ?1 AND hour >= ?4 AND hour < ?5
        AND ?2 IN ('', network) AND ?3 IN ('', lane)
      GROUP BY network, lane, tips, startMs`,
    row: v.object({
      network: text,
      lane: text,
      tips: count,
      startMs: count,
      ...figures(LANE_FIGURE_NAMES),
      slots: counts,
      delays: counts,
    }),
    add: {
      by: ['network', 'lane', 'tips', 'startMs'],
      sum: LANE_FIGURE_NAMES,
      counts: ['slots', 'delays'],
    },
  }),
  /**
   * Access, first hour and end; hours of a period, or 0 for all together, by network, location,
   * route and lane: what became of its submissions.
   */
  submissions: question({
    sql: `SELECT ${list(
      ['network', 'location', 'route', 'lane'].map(name => `iif(?4 = 0, ${name}, '') AS ${name}`),
    )}, iif(?4 = 0, 0, hour / ?4 * ?4 * 3600000) AS startMs, ${sums(LANE_FIGURE_NAMES)},
        sum(tipped) AS tipped, sum_counts(slots) AS slots, sum_counts(delays) AS delays
      FROM main.submission_hour WHERE access = ?1 AND hour >= ?2 AND hour < ?3
      GROUP BY 1, 2, 3, 4, 5`,
    row: v.object({
      network: text,
      location: text,
      route: text,
      lane: text,
      startMs: count,
      ...figures(LANE_FIGURE_NAMES),
      tipped: count,
      slots: counts,
      delays: counts,
    }),
    add: {
      by: ['network', 'location', 'route', 'lane', 'startMs'],
      sum: [...LANE_FIGURE_NAMES, 'tipped'],
      counts: ['slots', 'delays'],
      order: 'startMs',
    },
  }),
  /** Access: what it uses at this moment, which is in the table of limits. */
  use: question({
    row: v.object({
      requestsLastSecond: count,
      requestsInFlight: count,
      sockets: count,
      subscriptions: count,
      subscriptionsOfSocket: count,
      requestsMean: count,
      inFlightMean: count,
      socketsMean: count,
      subscriptionsMean: count,
    }),
    add: {
      by: [],
      sum: [
        'requestsLastSecond',
        'requestsInFlight',
        'sockets',
        'subscriptions',
        'requestsMean',
        'inFlightMean',
        'socketsMean',
      ],
      max: ['subscriptionsOfSocket', 'subscriptionsMean'],
    },
  }),
} as const

export type QuestionName = keyof typeof QUESTIONS
export type RowOf<Q extends QuestionName> = v.InferOutput<(typeof QUESTIONS)[Q]['row']>

/** The accesses that a question is about. */
export const accessesOf = (name: QuestionName, parameters: readonly Parameter[]) => {
  const { accesses = first }: Question<v.GenericSchema> = QUESTIONS[name]
  return accesses(parameters)
}

/** Adds up what machines answer. */
export const addAnswers = <Q extends QuestionName>(
  name: Q,
  answers: readonly (readonly RowOf<Q>[])[],
): readonly RowOf<Q>[] => addRows(answers.flat(), QUESTIONS[name].add) as readonly RowOf<Q>[]
