import { OTHER_METHOD } from './calls.js'

/** Kinds of rows that edges count in cells, and of events: the indexes of their statements. */
export const ROW = { minute: 0, method: 1, replaced: 2 } as const
export const EVENT = { failure: 0, refused: 1, client: 2, params: 3 } as const

/** What is counted of a scope in a minute, in the order of the figures of a slot. */
export const MINUTE_FIGURES = ['requests', 'errors', 'rateLimited', 'refused', 'unlisted'] as const
/** Those by which accesses are compared. */
export const PERIOD_FIGURES = ['requests', 'errors', 'rateLimited', 'refused'] as const
/**
 * Names of methods of all accesses in a minute; the calls of others are of `(other)`. A client can
 * make up names, and each access has its own.
 */
const METHODS_OF_ALL_MAX = 100
/** Hours by access are kept for the week that can be asked for, and some of the next one. */
const PERIOD_HOURS = 9 * 24
/**
 * What is counted of a method, and its description: tables, questions, the dashboard's API and
 * `slotline usage` follow from this. The order is that of the cells.
 */
export const METHOD_FIGURES = {
  requests: 'With those that failed or were over a limit',
  errors: 'Those that were answered with an error, but for 429',
  rateLimited: 'Those that were answered 429',
} as const
export type MethodFigure = keyof typeof METHOD_FIGURES
export type MethodFigures = Readonly<Record<MethodFigure, number>>
export const METHOD_FIGURE_NAMES = Object.keys(METHOD_FIGURES) as MethodFigure[]

/**
 * What is counted of submissions by location, route, lane, hour and tip, and its description:
 * tables, questions, `getLanePerformance` and the pages follow from this.
 */
export const LANE_FIGURES = {
  landed: 'Of those whose transactions all succeeded in final blocks',
  failed: 'Of those in final blocks, where none of the transactions succeeded',
  partlyLanded: 'Of those of which some transactions succeeded',
  expired: 'Of those that no block has, and none can have any more',
  replaced: 'Of those whose durable nonce was advanced without them',
  refused: 'Of those that the upstream refused, or had no capacity for',
  unseen: 'Of those of which it is not known whether they landed',
} as const
export type LaneFigure = keyof typeof LANE_FIGURES
export type LaneFigures = Readonly<Record<LaneFigure, number>>
export const LANE_FIGURE_NAMES = Object.keys(LANE_FIGURES) as LaneFigure[]

/** Newest failed requests of an access and origin; refused attempts and clients of a scope. */
export const FAILURES_MAX = 1_000
export const RECENT_MAX = 64

export const columnOf = (figure: string): string =>
  figure.replaceAll(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)

const SCOPE = ['access', 'network', 'location']
const texts = (...names: string[]): string[] => names.map(name => `${name} TEXT NOT NULL`)
const counts = (...names: string[]): string[] =>
  names.map(name => `${name} INTEGER NOT NULL DEFAULT 0`)

const minuteColumns = MINUTE_FIGURES.map(columnOf)
const methodColumns = METHOD_FIGURE_NAMES.map(columnOf)
const laneColumns = LANE_FIGURE_NAMES.map(columnOf)
const periodColumns = PERIOD_FIGURES.map(columnOf)
const peakColumns = ['per_second', 'at_ms']

const list = (names: readonly string[]): string => names.join(', ')
const news = (names: readonly string[]): string => list(names.map(name => `new.${name}`))
const adding = (names: readonly string[]): string =>
  list(names.map(name => `${name} = ${name} + excluded.${name}`))

const COUNTS = ["codes TEXT NOT NULL DEFAULT '{}'", "latencies TEXT NOT NULL DEFAULT '{}'"]
/**
 * Refusals by the index of their limit in `LIMIT_NAMES`, as JSON; empty in most minutes, where it
 * takes a byte. The last column: older files get it there.
 */
const OVER_LIMIT = "over_limit TEXT NOT NULL DEFAULT ''"
const addingOverLimit = `over_limit = iif(excluded.over_limit = '', over_limit,
          add_counts(over_limit, excluded.over_limit))`
const addingMinute = `${adding(minuteColumns)}, ${addingOverLimit}`
const addingMethod = `${adding(methodColumns)},
        codes = add_counts(codes, excluded.codes),
        latencies = add_counts(latencies, excluded.latencies)`
const methodList = (at: string): string =>
  list([...SCOPE, 'method', at, ...methodColumns, 'codes', 'latencies'])

/** The parameters of a row of cells: its key, the minute, then the figures. */
const FIRST_FIGURE = 6
const figuresOf = (columns: readonly string[]): string =>
  list(columns.map((_, index) => `?${FIRST_FIGURE + index}`))
const fields = (...names: string[]): string => list(names.map(name => `?1 ->> '${name}'`))

/** Keeps the newest rows of a table; checked at one of some insertions. */
const newest = (
  table: string,
  owner: readonly string[],
  at: string,
  max: number,
  name = `${table}_max`,
): string => `
  CREATE TRIGGER IF NOT EXISTS ${name} AFTER INSERT ON ${table}
  WHEN (new.${at} + random()) % ${Math.ceil(max / 16)} = 0 BEGIN
    DELETE FROM ${table} WHERE ${owner.map(name => `${name} = new.${name}`).join(' AND ')}
      AND ${at} < (SELECT ${at} FROM ${table}
        WHERE ${owner.map(name => `${name} = new.${name}`).join(' AND ')}
        ORDER BY ${at} DESC LIMIT 1 OFFSET ${max - 1});
  END`

/** Methods of all accesses in minute ?5. */
const ofAll = `FROM method_minute
  WHERE access = ?1 AND minute = ?5 AND network = ?2 AND location = ?3`

const ADD_MINUTE = `INSERT INTO minute (${list([...SCOPE, 'minute', ...minuteColumns])}, over_limit)
  VALUES (?1, ?2, ?3, ?5, ${figuresOf(minuteColumns)}, iif(?14 = '{}', '', ?14))
  ON CONFLICT DO UPDATE SET ${addingMinute}`

/** Minutes and days are counted since 1970, in UTC. `codes` and `latencies` are JSON. */
export const SCHEMA = {
  tables: [
    {
      name: 'minute',
      columns: [...texts(...SCOPE), ...counts('minute', ...minuteColumns), OVER_LIMIT],
      key: 'access, minute, network, location',
    },
    {
      // What is in the minutes of an access, by hour and by day: `minutes` is 60 or 1,440.
      name: 'access_period',
      columns: [...texts('access'), ...counts('minutes', 'period', ...periodColumns), OVER_LIMIT],
      key: 'minutes, period, access',
    },
    {
      // Of minutes that were too old, or for which there was no room.
      name: 'hour',
      columns: [...texts(...SCOPE), ...counts('hour', ...minuteColumns), OVER_LIMIT],
      key: 'access, hour, network, location',
    },
    {
      name: 'method_day',
      columns: [
        ...texts(...SCOPE, 'method'),
        ...counts('day', 'minute', ...methodColumns),
        ...COUNTS,
      ],
      key: 'day, access, network, location, method',
    },
    {
      // The same by minute, for a day, and then by hour.
      name: 'method_minute',
      columns: [...texts(...SCOPE, 'method'), ...counts('minute', ...methodColumns), ...COUNTS],
      key: 'access, minute, network, location, method',
    },
    {
      name: 'method_hour',
      columns: [...texts(...SCOPE, 'method'), ...counts('hour', ...methodColumns), ...COUNTS],
      key: 'access, hour, network, location, method',
    },
    {
      name: 'replaced',
      columns: [...texts(...SCOPE, 'tail', 'address'), ...counts('day', 'attempts', 'seen_ms')],
      key: 'access, network, location, day, tail, address',
    },
    {
      name: 'failure',
      columns: [
        ...texts(...SCOPE, 'method', 'text', 'origin', 'address', 'cells'),
        ...counts('at_ms', 'code', 'position'),
        ...["request TEXT NOT NULL DEFAULT ''", "params TEXT NOT NULL DEFAULT ''"],
        ...['bytes INTEGER', 'elapsed_us INTEGER', 'slot INTEGER'],
      ],
      key: 'access, at_ms, cells, position',
    },
    {
      name: 'refused',
      columns: [...texts(...SCOPE, 'address', 'reason', 'cells'), ...counts('at_ms', 'position')],
      key: 'access, network, location, at_ms, cells, position',
    },
    {
      name: 'client',
      columns: [...texts(...SCOPE, 'address'), ...counts('seen_ms')],
      key: 'access, network, location, address',
    },
    {
      // Of one access, and under an empty one of all. Delays and `tipped`, the lamports of tips,
      // are of those that landed.
      name: 'submission_hour',
      columns: [
        ...texts(...SCOPE, 'route', 'lane'),
        ...counts('hour', 'tips', ...laneColumns, 'tipped'),
        "slots TEXT NOT NULL DEFAULT '{}'",
        "delays TEXT NOT NULL DEFAULT '{}'",
      ],
      key: 'access, hour, network, location, route, lane, tips',
    },
    {
      // The same by minute, for a day, whatever their tips are.
      name: 'submission_minute',
      columns: [
        ...texts(...SCOPE, 'route', 'lane'),
        ...counts('minute', ...laneColumns, 'tipped'),
        "slots TEXT NOT NULL DEFAULT '{}'",
        "delays TEXT NOT NULL DEFAULT '{}'",
      ],
      key: 'access, minute, network, location, route, lane',
    },
    {
      // Ids of submissions in `submission_hour`, as long as the sender may count them again.
      name: 'counted',
      columns: texts('id'),
      key: 'id',
    },
    {
      // By quarter-hour and key of the access in the limit table.
      name: 'peak',
      columns: [...texts('access'), ...counts('quarter', 'at_ms'), 'per_second REAL NOT NULL'],
      key: 'access, quarter',
    },
  ],
  more: [
    // Of a store of an earlier build: a flood of one origin must not displace the others.
    'DROP TRIGGER IF EXISTS failure_max',
    newest('failure', ['access', 'origin'], 'at_ms', FAILURES_MAX, 'failure_origin_max'),
    // A row of cells is of one minute: it is added to it before it is added to its day.
    `CREATE TRIGGER IF NOT EXISTS method_day_minute BEFORE INSERT ON method_day BEGIN
      INSERT INTO method_minute (${methodList('minute')})
        VALUES (${news(methodList('minute').split(', '))})
        ON CONFLICT DO UPDATE SET ${addingMethod};
    END`,
    `CREATE TRIGGER IF NOT EXISTS minute_period BEFORE INSERT ON minute WHEN new.access <> '' BEGIN
      INSERT INTO access_period (${list(['access', 'minutes', 'period', ...periodColumns])})
        VALUES (new.access, 60, new.minute / 60, ${news(periodColumns)}),
          (new.access, 1440, new.minute / 1440, ${news(periodColumns)})
        ON CONFLICT DO UPDATE SET ${adding(periodColumns)};
    END`,
    // Few minutes have any, so those without cost nothing.
    `CREATE TRIGGER IF NOT EXISTS minute_over_limit BEFORE INSERT ON minute
    WHEN new.access <> '' AND new.over_limit <> '' BEGIN
      INSERT INTO access_period (access, minutes, period, over_limit)
        VALUES (new.access, 60, new.minute / 60, new.over_limit),
          (new.access, 1440, new.minute / 1440, new.over_limit)
        ON CONFLICT DO UPDATE SET ${addingOverLimit};
    END`,
    newest('refused', SCOPE, 'at_ms', RECENT_MAX),
    newest('client', SCOPE, 'seen_ms', RECENT_MAX),
  ],
  rows: [
    ADD_MINUTE,
    `INSERT INTO method_day (${methodList('day')}, minute)
      VALUES (?1, ?2, ?3, ?4, ?5 / 1440, ${figuresOf(methodColumns)}, ?14, ?15, ?5)
      ON CONFLICT DO UPDATE SET ${addingMethod}, minute = max(minute, excluded.minute)`,
    `INSERT INTO replaced (${list([...SCOPE, 'tail', 'address', 'day', 'attempts', 'seen_ms'])})
      VALUES (?1, ?2, ?3, substr(?4, 1, instr(?4, ' ') - 1), substr(?4, instr(?4, ' ') + 1),
        ?5 / 1440, ?6, ?7)
      ON CONFLICT DO UPDATE SET attempts = attempts + excluded.attempts,
        seen_ms = max(seen_ms, excluded.seen_ms)`,
  ],
  // Of all accesses, under an empty one, without a network and a location: see 0212.
  sums: [
    ADD_MINUTE,
    `INSERT INTO method_minute (${methodList('minute')})
      VALUES (?1, ?2, ?3, iif(EXISTS (SELECT 1 ${ofAll} AND method = ?4)
          OR (SELECT count(*) ${ofAll}) < ${METHODS_OF_ALL_MAX}, ?4, '${OTHER_METHOD}'),
        ?5, ${figuresOf(methodColumns)}, ?14, ?15)
      ON CONFLICT DO UPDATE SET ${addingMethod}`,
    '',
  ],
  events: [
    `INSERT OR IGNORE INTO failure (${list([...SCOPE, 'method', 'text', 'origin', 'address'])},
        at_ms, code, bytes, elapsed_us, slot, request, cells, position)
      SELECT ${fields(...SCOPE, 'method', 'text', 'origin', 'address', 'atMs', 'code')},
        ${fields('bytes', 'elapsedUs', 'slot')}, coalesce(?1 ->> 'request', ''), ?2, ?3`,
    `INSERT OR IGNORE INTO refused (${list([...SCOPE, 'address', 'reason'])}, at_ms, cells, position)
      SELECT ${fields(...SCOPE, 'address', 'reason', 'atMs')}, ?2, ?3`,
    `INSERT INTO client (${list([...SCOPE, 'address', 'seen_ms'])})
      SELECT ${fields(...SCOPE, 'address', 'atMs')} WHERE ?2 IS NOT NULL AND ?3 IS NOT NULL
      ON CONFLICT DO UPDATE SET seen_ms = max(seen_ms, excluded.seen_ms)`,
    // The nth event after that of its failure.
    `UPDATE failure SET params = params || (?1 ->> 'piece')
      WHERE access = ?1 ->> 'access' AND at_ms = ?1 ->> 'atMs'
        AND cells = ?2 AND position = ?3 - (?1 ->> 'after')`,
  ],
}

/** Adds the rows of a JSON array: key, quarter-hour, highest rate, when. */
export const ADD_PEAKS = `INSERT INTO peak (access, quarter, ${list(peakColumns)})
  SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each(?1) WHERE true
  ON CONFLICT DO UPDATE SET
    at_ms = CASE WHEN excluded.per_second > per_second THEN excluded.at_ms ELSE at_ms END,
    per_second = max(per_second, excluded.per_second)`

/**
 * What became of the submissions of a JSON array that are not marked, of each access and of all;
 * `at` are the columns and values of their time, and of what else they are grouped by.
 */
const endsBy = (table: string, at: Readonly<Record<string, string>>, more = ''): string => {
  const groups = SCOPE.length + 2 + Object.keys(at).length
  return `INSERT INTO ${table} (${list([
    ...[...SCOPE, 'route', 'lane', ...Object.keys(at), 'tipped'],
    ...[...laneColumns, 'slots', 'delays'],
  ])})
    SELECT owner, value ->> 2, value ->> 3, value ->> 4, value ->> 5, ${list(Object.values(at))},
      sum(iif(value ->> 9 = 'landed', value ->> 8, 0)),
      ${list(LANE_FIGURE_NAMES.map(name => `sum(value ->> 9 = '${name}')`))},
      sum_counts(value ->> 10), sum_counts(value ->> 11)
    FROM (SELECT value, value ->> 1 AS owner FROM json_each(?1)
      UNION ALL SELECT value, '' AS owner FROM json_each(?1))
    WHERE value ->> 0 NOT IN (SELECT id FROM counted) ${more}
    GROUP BY ${list(Array.from({ length: groups }, (_, index) => String(index + 1)))}
    ON CONFLICT DO UPDATE SET ${adding([...laneColumns, 'tipped'])},
      slots = add_counts(slots, excluded.slots),
      delays = add_counts(delays, excluded.delays)`
}

/**
 * Counts the submissions of a JSON array, each once: id, access, network, location, route, lane,
 * minute, lowest tip of the band, tip, figure, and the buckets of its delays in slots and
 * milliseconds as counts. Minutes are kept from ?2 on.
 */
export const ADD_ENDS = [
  endsBy('submission_hour', { hour: '(value ->> 6) / 60', tips: 'value ->> 7' }),
  endsBy('submission_minute', { minute: 'value ->> 6' }, 'AND value ->> 6 >= ?2'),
  'INSERT OR IGNORE INTO counted SELECT value ->> 0 FROM json_each(?1)',
]

/** None of them is counted again from now on. */
export const FORGET_ENDS = ['DELETE FROM counted']

/** Reduces the minutes before ?1 to their hours. */
export const TO_HOURS = [
  `INSERT INTO hour (${list([...SCOPE, 'hour', ...minuteColumns])}, over_limit)
    SELECT ${list(SCOPE)}, minute / 60, ${list(minuteColumns.map(name => `sum(${name})`))},
      iif(max(over_limit) = '', '', sum_counts(over_limit))
    FROM minute WHERE minute < ?1 GROUP BY access, minute / 60, network, location
    ON CONFLICT DO UPDATE SET ${addingMinute}`,
  'DELETE FROM minute WHERE minute < ?1',
]

/**
 * Reduces what was done with each method before minute ?1, which begins an hour, to its hours.
 * Submissions are in theirs.
 */
export const METHODS_TO_HOURS = [
  `INSERT INTO method_hour (${methodList('hour')})
    SELECT ${list(SCOPE)}, method, minute / 60 AS hour,
      ${list(methodColumns.map(name => `sum(${name})`))}, sum_counts(codes), sum_counts(latencies)
    FROM method_minute WHERE minute < ?1 GROUP BY access, hour, network, location, method
    ON CONFLICT DO UPDATE SET ${addingMethod}`,
  'DELETE FROM method_minute WHERE minute < ?1',
  'DELETE FROM submission_minute WHERE minute < ?1',
]

/** Removes minutes, hours, lanes, lists and peaks before day ?1, what is billed before day ?2. */
export const REMOVE_OLD = [
  'DELETE FROM minute WHERE minute < ?1 * 1440',
  'DELETE FROM hour WHERE hour < ?1 * 24',
  `DELETE FROM access_period WHERE minutes = 60
    AND period < max(?1 * 24, (SELECT max(period) FROM access_period WHERE minutes = 60) - ${PERIOD_HOURS})`,
  'DELETE FROM access_period WHERE minutes = 1440 AND period < ?1',
  'DELETE FROM submission_hour WHERE hour < ?1 * 24',
  'DELETE FROM submission_minute WHERE minute < ?1 * 1440',
  'DELETE FROM method_minute WHERE minute < ?1 * 1440',
  'DELETE FROM method_hour WHERE hour < ?1 * 24',
  'DELETE FROM method_day WHERE day < ?2',
  'DELETE FROM replaced WHERE day < ?1',
  'DELETE FROM failure WHERE at_ms < ?1 * 86400000',
  'DELETE FROM refused WHERE at_ms < ?1 * 86400000',
  'DELETE FROM client WHERE seen_ms < ?1 * 86400000',
  'DELETE FROM peak WHERE quarter < ?1 * 96',
]
