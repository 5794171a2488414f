import { percentileMs } from '../../../usage/latency.js'
import { DAY_MS } from '../../../usage/scope.js'
import type { AccessService } from '../../../access/service.js'
import { ok, route, type Route } from '../../http/route.js'
import { checkOwnScope } from '../own-access.js'
import { createFailureRoutes } from './failure-routes.js'
import * as shapes from './shapes.js'
import type { MethodUsage, Usage } from '../usage.js'

const toMethodView = ({ latencies, ...counts }: MethodUsage) => ({
  ...counts,
  p50Ms: percentileMs(latencies, 0.5),
  p95Ms: percentileMs(latencies, 0.95),
  p99Ms: percentileMs(latencies, 0.99),
})

type Parts = {
  readonly accessService: AccessService
  readonly usage: Usage
  readonly now: () => number
}

/** Usage of the last 30 days. */
export const createUsageRoutes = ({ accessService, usage, now }: Parts): readonly Route[] => [
  route({
    method: 'GET',
    path: '/api/accesses/:accessId/networks/:network/locations/:location/usage/periods',
    guard: 'session',
    summary: 'Usage of the network at the location by minute, hour or day, for 30 days',
    query: shapes.periodsQuery,
    answers: { 200: { description: 'Periods with counts', body: shapes.usagePeriods } },
    errors: ['noSuchAccess', 'notOffered', 'wrongInput'],
    handle: async ({ session, params, query }) => {
      const scope = checkOwnScope(accessService, session, params)
      const { grain, from: fromMs, until: untilMs } = query
      return ok(await usage.ofPeriods(scope, { grain, fromMs, untilMs }))
    },
  }),
  route({
    method: 'GET',
    path: '/api/accesses/:accessId/networks/:network/locations/:location/usage/methods',
    guard: 'session',
    summary: 'Usage of the network at the location by method: errors by code, and percentiles',
    query: shapes.methodsQuery,
    answers: { 200: { description: 'The most used one first', body: shapes.methodUsage } },
    errors: ['noSuchAccess', 'notOffered', 'wrongInput'],
    handle: async ({ session, params, query }) => {
      const scope = checkOwnScope(accessService, session, params)
      const until = Math.floor(now() / DAY_MS) + 1
      const range = { from: until - query.days, until }
      const { methods, missing } = await usage.ofMethods(scope, range)
      return ok({ methods: methods.map(toMethodView), missing })
    },
  }),
  ...createFailureRoutes({ accessService, usage, now }),
]
