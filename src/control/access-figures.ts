import type { FiguresOf } from '../dashboard/api/metrics/figures.js'
import { DAY_MS, MINUTE_MS, dayOf } from '../usage/scope.js'
import { missingOf, refusalsOf, type Ask } from './usage.js'

const WEEK_DAYS = 7
/** Day 0, 1970-01-01, was a Thursday. */
const MONDAY_OFFSET = 3

/** The last Monday until now, in days. The options keep a week at least, whatever they are. */
const mondayOf = (nowMs: number): number => {
  const today = dayOf(nowMs)
  return today - ((today + MONDAY_OFFSET) % WEEK_DAYS)
}

/** What an access has done since Monday, from the store of each machine, so over restarts. */
export const createAccessFigures =
  (ask: Ask, now: () => number): FiguresOf =>
  async ({ accessId, networks, locations, limits }) => {
    const nowMs = now()
    const monday = mondayOf(nowMs)
    const end = dayOf(nowMs) + 1
    const scopes = networks.flatMap(network => locations.map(location => ({ network, location })))
    const days = [DAY_MS / MINUTE_MS, monday, end] as const
    const [used, refused, submissions, ...methods] = await Promise.all([
      ask('use', [accessId], locations),
      ask('overLimit', [JSON.stringify([accessId]), ...days], locations),
      ask('landing', [accessId, monday * DAY_MS, end * DAY_MS, 0], locations),
      ...scopes.map(async scope => {
        const parameters = [accessId, scope.network, scope.location, monday, end]
        const found = await ask('methods', parameters, [scope.location])
        return { ...found, rows: found.rows.map(row => Object.assign({}, row, scope)) }
      }),
    ])
    const [use] = used.rows
    return {
      methods: methods.flatMap(({ rows }) => rows),
      submissions: submissions.rows,
      overLimit: refusalsOf(refused.rows),
      use: {
        requestsInFlight: use?.requestsInFlight ?? 0,
        requestsLastSecond: use?.requestsLastSecond ?? 0,
        sockets: use?.sockets ?? 0,
        subscriptions: use?.subscriptions ?? 0,
        subscriptionsOfSocket: use?.subscriptionsOfSocket ?? 0,
      },
      limits,
      ...missingOf(used, refused, submissions, ...methods),
    }
  }
