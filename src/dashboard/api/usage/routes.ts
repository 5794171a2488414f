import { percentileMs } from '../../../usage/latency.js'
import { DAY_MS } from '../../../usage/scope.js'
import type { AccessService } from '../../../access/service.js'
import { ok, route, type Route } from '../../http/route.js'
import { toScope } from '../own-access.js'
import { createFailureRoutes } from './failure-routes.js'
import * as shapes from './shapes.js'
import type { Missing } from '../answers.js'
import type { MethodUsage, RangeUsage, Usage } from '../usage.js'

const toMethodView = <C extends Pick<MethodUsage, 'latencies'>>({ latencies, ...counts }: C) => ({
  ...counts,
  p50Ms: percentileMs(latencies, 0.5),
  p95Ms: percentileMs(latencies, 0.95),
  p99Ms: percentileMs(latencies, 0.99),
})

/** A range as the page shows it. */
export const toRangeView = (
  { fromMs, untilMs }: ReturnType<typeof shapes.timesOf>,
  { calls, methods, ...found }: RangeUsage & Missing,
) => ({
  fromMs,
  untilMs,
  ...found,
  calls: calls.map(toMethodView),
  methods: methods.map(toMethodView),
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
    accessRole: 'view',
    apiKeyScope: 'usage:read',
    summary: 'Usage of the network at the location by minute, hour or day, for 30 days',
    query: shapes.periodsQuery,
    answers: { 200: { description: 'Periods with counts', body: shapes.usagePeriods } },
    errors: ['notOffered', 'wrongInput'],
    handle: async ({ access, params, query }) => {
      const scope = toScope(access, params)
      const { grain, from: fromMs, until: untilMs } = query
      return ok(await usage.ofPeriods(scope, { grain, fromMs, untilMs }))
    },
  }),
  route({
    method: 'GET',
    path: '/api/accesses/:accessId/networks/:network/locations/:location/usage/methods',
    guard: 'session',
    accessRole: 'view',
    apiKeyScope: 'usage:read',
    summary: 'Usage of the network at the location by method: errors by code, and percentiles',
    query: shapes.methodsQuery,
    answers: { 200: { description: 'The most used one first', body: shapes.methodUsage } },
    errors: ['notOffered', 'wrongInput'],
    handle: async ({ access, params, query }) => {
      const scope = toScope(access, params)
      const until = Math.floor(now() / DAY_MS) + 1
      const range = { from: until - query.days, until }
      const { methods, missing } = await usage.ofMethods(scope, range)
      return ok({ methods: methods.map(toMethodView), missing })
    },
  }),
  route({
    method: 'GET',
    path: '/api/accesses/:accessId/usage/range',
    watchedMs: 10_000,
    guard: 'session',
    accessRole: 'view',
    apiKeyScope: 'usage:read',
    operatorAnswer: shapes.rangeUsage,
    summary: 'Usage in a time: requests, errors by code, percentiles by period and by method',
    query: shapes.rangeQuery,
    answers: {
      200: { description: 'Of one network or location, or all', body: shapes.rangeUsage },
    },
    errors: ['wrongInput'],
    handle: async ({ access: { accessId, locations }, query: { network, location, ...asked } }) => {
      const times = shapes.timesOf(asked, now())
      const query = { network, location, ...times }
      return ok(toRangeView(times, await usage.ofRange(accessId, query, locations)))
    },
  }),
  ...createFailureRoutes({ accessService, usage, now }),
]
