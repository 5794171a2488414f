import * as v from 'valibot'
import { all, count, counts, figures, list, OF_IDS, question, sums, text } from './question.js'
import { columnOf, LANE_FIGURE_NAMES } from './schema.js'

const ENDS = list([
  ...['network', 'location', 'route', 'lane', 'tipped', 'slots', 'delays'],
  ...LANE_FIGURE_NAMES.map(columnOf),
])

/** What is asked of how submissions ended, as in `QUESTIONS`. Hours are counted since 1970. */
export const SUBMISSION_QUESTIONS = {
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
   * Access, or an empty text for all; from and until in Unix milliseconds; length of a period, or 0
   * for all together, by network, location, route and lane: what became of its submissions. Hours
   * without minutes are in the period in which they begin.
   */
  landing: question({
    sql: `SELECT ${list(
      ['network', 'location', 'route', 'lane'].map(name => `iif(?4 = 0, ${name}, '') AS ${name}`),
    )}, iif(?4 = 0, 0, at_ms / ?4 * ?4) AS startMs, ${sums(LANE_FIGURE_NAMES)},
        sum(tipped) AS tipped, sum_counts(slots) AS slots, sum_counts(delays) AS delays
      FROM (
        SELECT ${ENDS}, minute * 60000 AS at_ms FROM main.submission_minute
          WHERE access = ?1 AND minute >= ?2 / 60000 AND minute <= ?3 / 60000
        UNION ALL
        SELECT ${ENDS}, hour * 3600000 AS at_ms FROM main.submission_hour
          WHERE access = ?1 AND hour >= ?2 / 3600000 AND hour <= ?3 / 3600000
            AND NOT EXISTS (SELECT 1 FROM main.submission_minute AS kept
              WHERE kept.access = ?1 AND kept.minute >= hour * 60 AND kept.minute < hour * 60 + 60)
      ) WHERE at_ms >= ?2 AND at_ms < ?3
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
  /** Ids of accesses as JSON, first hour and end: what became of the submissions of each. */
  ends: question({
    sql: `SELECT access AS accessId, ${sums(LANE_FIGURE_NAMES)},
        sum_counts(slots) AS slots, sum_counts(delays) AS delays
      FROM main.submission_hour
      WHERE ${OF_IDS} AND hour >= ?2 AND hour < ?3 GROUP BY access`,
    row: v.object({
      accessId: text,
      ...figures(LANE_FIGURE_NAMES),
      slots: counts,
      delays: counts,
    }),
    add: { by: ['accessId'], sum: LANE_FIGURE_NAMES, counts: ['slots', 'delays'] },
    accesses: all,
  }),
} as const
