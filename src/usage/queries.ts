import * as v from 'valibot'
import { addRows } from './add-rows.js'
import { FAILURE_ORIGINS } from './calls.js'
import {
  all,
  both,
  count,
  counts,
  figures,
  from,
  list,
  OF_IDS,
  question,
  sums,
  text,
  type Parameter,
  type Question,
} from './question.js'
import {
  columnOf,
  METHOD_FIGURE_NAMES,
  MINUTE_FIGURES,
  PERIOD_FIGURES,
  RECENT_MAX,
} from './schema.js'
import { SUBMISSION_QUESTIONS } from './submission-questions.js'

export type { Parameter } from './question.js'

/** Rows in one answer of a machine: less than 2 MB. */
export const ROWS_MAX = 5_000

const SCOPE = '?1 = access AND ?2 = network AND ?3 = location'
const ANY_PLACE = "?2 IN ('', network) AND ?3 IN ('', location)"
/** The same, where an empty text is any. Of all accesses the store has sums under an empty one. */
const ANY_SCOPE = `?1 = access AND ${ANY_PLACE}`
/** The same of what is not in the store: it has rows of these accesses alone. */
const ANY_LIVE = `?1 IN ('', access) AND ${ANY_PLACE}`

/** Access, what of it, method, code, location, address, origin, from, until; '' for any. */
const FAILURES = `?1 = access AND at_ms >= ?8 AND at_ms < ?9 AND (?3 = '' OR method = ?3)
  AND (?4 = '' OR code = ?4) AND (?5 = '' OR location = ?5) AND (?6 = '' OR address = ?6)
  AND (?7 = '' OR origin = ?7)`

const CALLS = `method, ${METHOD_FIGURE_NAMES.map(columnOf).join(', ')}, codes, latencies`

const periodColumns = list(PERIOD_FIGURES.map(columnOf))
/** What accesses are ordered by. */
const topValue = `CASE ?4 ${PERIOD_FIGURES.map(name => `WHEN '${name}' THEN ${name}`).join(' ')} END`

/** Figures that are shown; `unlisted` is that of the list of failures. */
const SHOWN = MINUTE_FIGURES.filter(figure => figure !== 'unlisted')

/** Refusals by limit; absent of a machine with an earlier build. */
const overLimit = v.optional(counts, '{}')
const place = { network: text, location: text }
const minuteFigures = figures(SHOWN)
const methodFigures = figures(METHOD_FIGURE_NAMES)

const first = ([access = '']: readonly Parameter[]): readonly string[] => [String(access)]
const firstOrAll = ([access = '']: readonly Parameter[]): readonly string[] =>
  access === '' ? [] : [String(access)]
const ofIds = ([ids]: readonly Parameter[]): readonly string[] =>
  JSON.parse(String(ids)) as string[]

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
   * length of a period. Of all accesses it is of all networks and locations.
   */
  periods: question({
    sql: `SELECT at_ms / ?6 * ?6 AS startMs, ${sums(SHOWN)},
        sum_counts(over_limit) AS overLimit FROM (
        SELECT *, minute * 60000 AS at_ms FROM
          ${both(
            schema => `SELECT * FROM ${schema}.minute WHERE
              ${schema === 'main' ? ANY_SCOPE : ANY_LIVE}
              AND minute >= ?4 / 60000 AND minute <= ?5 / 60000`,
          )}
        UNION ALL
        SELECT *, hour * 3600000 AS at_ms FROM main.hour
          WHERE ${ANY_SCOPE} AND ?6 > 60000 AND hour >= ?4 / 3600000 AND hour <= ?5 / 3600000
      ) WHERE at_ms >= ?4 AND at_ms < ?5 GROUP BY startMs`,
    row: v.object({ startMs: count, ...minuteFigures, overLimit }),
    add: { by: ['startMs'], sum: SHOWN, counts: ['overLimit'], order: 'startMs' },
    accesses: firstOrAll,
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
        SELECT ${CALLS}, minute * 60000 AS at_ms FROM temp.method_day WHERE ${ANY_LIVE}
      ) WHERE at_ms >= ?4 AND at_ms < ?5 GROUP BY 1, 2 ORDER BY 1, 3 DESC`,
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
    accesses: firstOrAll,
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
  /** Key of the access and two quarter-hours: the highest rates after the first. */
  peaks: question({
    sql: `SELECT quarter * 900000 AS startMs, per_second AS perSecond, at_ms AS atMs
      FROM main.peak WHERE access = ?1 AND quarter > ?2 AND quarter <= ?3`,
    row: v.object({ startMs: count, perSecond: count, atMs: count }),
    // Machines may have their peaks in different seconds: the sum is not less than the real one.
    add: {
      by: ['startMs'],
      withMost: ['perSecond', 'atMs'],
      sum: ['perSecond'],
      order: 'startMs',
    },
  }),
  /**
   * Length of a period in minutes, 60 or 1,440, first period and end, and the figure by which they
   * are ordered: the accesses that have most of it.
   */
  top: question({
    sql: `SELECT * FROM (SELECT access AS accessId, ${sums(PERIOD_FIGURES)} FROM (
        SELECT access, ${periodColumns} FROM main.access_period
          WHERE minutes = ?1 AND period >= ?2 AND period < ?3
        UNION ALL
        SELECT access, ${periodColumns} FROM temp.minute
          WHERE minute >= ?1 * ?2 AND minute < ?1 * ?3
      ) GROUP BY access)
      WHERE ${topValue} > 0 ORDER BY ${topValue} DESC, accessId LIMIT ${ROWS_MAX}`,
    row: v.object({ accessId: text, ...figures(PERIOD_FIGURES) }),
    add: { by: ['accessId'], sum: PERIOD_FIGURES },
    accesses: all,
  }),
  /**
   * Ids of accesses as JSON, length of a period in minutes, 60 or 1,440, first period and end: what
   * each limit has refused of each. Only periods that the store has are looked up.
   */
  overLimit: question({
    sql: `WITH RECURSIVE kept(n, last) AS (
        SELECT max(?3, coalesce(min(period), ?3)), min(?4, coalesce(max(period) + 1, ?3))
          FROM main.access_period WHERE minutes = ?2
        UNION ALL SELECT n + 1, last FROM kept WHERE n + 1 < last)
      SELECT access AS accessId, sum_counts(over_limit) AS overLimit FROM (
        SELECT access, over_limit FROM kept CROSS JOIN json_each(?1) AS ids
          CROSS JOIN main.access_period
          ON n < last AND minutes = ?2 AND period = n AND access = ids.value
        UNION ALL
        SELECT access, over_limit FROM temp.minute
          WHERE ${OF_IDS} AND minute >= ?2 * ?3 AND minute < ?2 * ?4
      ) GROUP BY access`,
    row: v.object({ accessId: text, overLimit: counts }),
    add: { by: ['accessId'], counts: ['overLimit'] },
    accesses: ofIds,
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
  ...SUBMISSION_QUESTIONS,
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
