import type * as v from 'valibot'
import { stateOf } from '../../../access/accesses/access-manager.js'
import type { AccessService } from '../../../access/service.js'
import type { Access } from '../../../access/store/tables.js'
import type { Performance, SubmissionFigures } from '../../../usage/performance.js'
import { HOUR_MS } from '../../../usage/scope.js'
import { ok, route, type Route } from '../../http/route.js'
import type { Limits } from '../../../shared/access-limits.js'
import type { Missing } from '../answers.js'
import type { RangeQuery, RangeUsage } from '../usage.js'
import { toRangeView } from '../usage/routes.js'
import { serviceRangeQuery, timesOf } from '../usage/shapes.js'
import * as shapes from './service-shapes.js'

/** Accesses of one page. */
const PAGE_MAX = 50

/** What accesses are ordered by. */
export type TopFigure = v.InferOutput<typeof shapes.topQuery>['by']

/** The accesses with most of a figure. */
export type TopQuery = {
  readonly by: TopFigure
  /** Unix milliseconds, up to but not including the second. */
  readonly fromMs: number
  readonly untilMs: number
  readonly count: number
  /** The last access of the page before, and its value. */
  readonly after: { readonly value: number; readonly accessId: string } | undefined
}

/** What one access did. */
export type TopAccess = {
  readonly accessId: string
  readonly requests: number
  readonly errors: number
  readonly rateLimited: number
  readonly refused: number
  readonly overLimit: Limits
  readonly submissions: Performance
}

/** Usage of all accesses together. */
export type ServiceUsage = {
  ofRange(times: Omit<RangeQuery, 'network' | 'location'>): Promise<
    RangeUsage & {
      readonly submissions: SubmissionFigures & {
        readonly fromMs: number
        readonly untilMs: number
      }
    } & Missing
  >
  top(query: TopQuery): Promise<
    {
      readonly fromMs: number
      readonly untilMs: number
      readonly accesses: readonly TopAccess[]
      readonly next: string | null
    } & Missing
  >
}

type Parts = {
  readonly accessService: Pick<AccessService, 'find'>
  readonly service: ServiceUsage
  readonly now: () => number
}

/** The value and the access of a cursor. */
const parseAfter = (after: string): TopQuery['after'] => {
  const [value = '', ...rest] = after.split('-')
  return after === '' ? undefined : { value: Number(value), accessId: rest.join('-') }
}

const toHolder = (access: Access | undefined, nowMs: number) =>
  access && {
    subject: access.subject,
    product: access.product,
    label: access.label,
    state: stateOf(access, nowMs),
  }

/** The service as a whole, and the accesses that use it most. */
export const createServiceRoutes = ({ accessService, service, now }: Parts): readonly Route[] => [
  route({
    method: 'GET',
    path: '/api/operator/usage/range',
    watchedMs: 10_000,
    guard: 'session',
    needsOperator: true,
    summary: 'Requests, errors by code, percentiles and submissions of all accesses in a time',
    query: serviceRangeQuery,
    answers: { 200: { description: 'Sums, of all machines', body: shapes.serviceUsage } },
    errors: ['wrongInput'],
    handle: async ({ query }) => {
      const times = timesOf(query, now())
      return ok(toRangeView(times, await service.ofRange(times)))
    },
  }),
  route({
    method: 'GET',
    path: '/api/operator/usage/accesses',
    guard: 'session',
    needsOperator: true,
    summary: 'The accesses with most requests, errors or 429s in a time',
    query: shapes.topQuery,
    answers: {
      200: { description: 'At most 50, the one with most first', body: shapes.topAccesses },
    },
    errors: ['wrongInput'],
    handle: async ({ query: { after, by, ...asked } }) => {
      const { fromMs, untilMs } = timesOf({ ...asked, step: HOUR_MS }, now())
      const query = { by, fromMs, untilMs, count: PAGE_MAX, after: parseAfter(after) }
      const { accesses, ...found } = await service.top(query)
      const shown = accesses.map(access => ({
        ...access,
        holder: toHolder(accessService.find(access.accessId), now()) ?? null,
      }))
      return ok({ ...found, accesses: shown })
    },
  }),
]
