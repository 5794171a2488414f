import type * as v from 'valibot'
import { lastHours } from '../../../usage/performance.js'
import { HOUR_MS } from '../../../usage/scope.js'
import { ok, route, type Route } from '../../http/route.js'
import type { Catalog } from '../catalog.js'
import { collect, toCsv, type ExportBounds } from './export.js'
import * as shapes from './shapes.js'

/** How the submissions of an access went; at its locations, in the last hours, by period. */
export type SummaryOf = (
  accessId: string,
  locations: readonly string[],
  hours: number,
  periodHours: number,
) => Promise<v.InferOutput<typeof shapes.summary>>

export type SubmissionRouteParts = {
  readonly catalog: Catalog
  readonly submissions: shapes.Submissions
  readonly exportBounds: ExportBounds
  readonly summary: SummaryOf
  readonly now: () => number
}

/** Hours of a period of the chart, by those of its range. */
const PERIOD_HOURS = { 1: 1, 6: 1, 24: 1, 168: 6, 720: 24 } as const

type Asked = Pick<v.InferOutput<typeof shapes.submissionsQuery>, 'fromMs' | 'hours'>

/** A query with the begin of its hours, which is that of a summary of as many. */
const withBegin = <Q extends Asked>({ hours, ...query }: Q, nowMs: number): Omit<Q, 'hours'> => {
  if (hours === undefined || query.fromMs !== undefined) return query
  const { from } = lastHours(Number(hours), PERIOD_HOURS[hours], nowMs)
  return { ...query, fromMs: from * HOUR_MS }
}

/** Headers of a file that a browser saves. */
const fileHeaders = (name: string, type: string): Readonly<Record<string, string>> => ({
  'Content-Type': type,
  'Content-Disposition': `attachment; filename="${name}"`,
})

const exportRoute = ({ exportBounds, now, submissions }: SubmissionRouteParts): Route =>
  route({
    method: 'GET',
    path: '/api/accesses/:accessId/submissions/export',
    guard: 'session',
    accessRole: 'view',
    apiKeyScope: 'submissions:read',
    summary: 'The submissions that match as a CSV or JSON file; X-Next is where it continues',
    query: shapes.exportQuery,
    answers: { 200: { description: 'Newest first' } },
    errors: ['wrongInput'],
    isRateLimited: true,
    handle: async ({ access, query: { format, ...filters } }) => {
      const { accessId, locations } = access
      const search = { accessId, ...withBegin(filters, now()) }
      const found = await collect(submissions, search, locations, exportBounds)
      const isPart = found.next !== null || found.missing !== undefined
      const name = `submissions-${accessId}${isPart ? '-part' : ''}.${format}`
      const type = format === 'csv' ? 'text/csv; charset=utf-8' : 'application/json'
      return {
        status: 200,
        text: format === 'csv' ? toCsv(found.submissions) : JSON.stringify(found),
        headers: {
          ...fileHeaders(name, type),
          ...(found.next === null ? {} : { 'X-Next': found.next }),
          ...(found.missing === undefined ? {} : { 'X-Missing': found.missing.join(', ') }),
        },
      }
    },
  })

const summaryRoute = ({ summary }: SubmissionRouteParts): Route =>
  route({
    method: 'GET',
    path: '/api/accesses/:accessId/submissions/summary',
    watchedMs: 10_000,
    guard: 'session',
    accessRole: 'view',
    apiKeyScope: 'submissions:read',
    operatorAnswer: shapes.summary,
    summary: 'Landing rate, delay and tips of submissions, by route, location and lane',
    query: shapes.summaryQuery,
    answers: { 200: { description: 'Of the last hours with this one', body: shapes.summary } },
    errors: ['wrongInput'],
    handle: async ({ access, query: { hours } }) => {
      const { accessId, locations } = access
      return ok(await summary(accessId, locations, Number(hours), PERIOD_HOURS[hours]))
    },
  })

/** The API of what was submitted. */
export const createSubmissionRoutes = (parts: SubmissionRouteParts): readonly Route[] => [
  exportRoute(parts),
  summaryRoute(parts),
  route({
    method: 'GET',
    path: '/api/accesses/:accessId/submissions',
    watchedMs: 3_000,
    guard: 'session',
    accessRole: 'view',
    apiKeyScope: 'submissions:read',
    operatorAnswer: shapes.submissions,
    summary: 'Submissions with their states, checks and transactions',
    query: shapes.submissionsQuery,
    answers: { 200: { description: 'Newest first', body: shapes.submissions } },
    errors: ['wrongInput'],
    handle: async ({ access, query }) => {
      const { catalog, now, submissions } = parts
      const { accessId, locations, networks } = access
      const explorers = networks.flatMap(network => {
        const url = catalog.explorerUrl(network)
        return url === undefined ? [] : [{ network, url }]
      })
      const search = { accessId, ...withBegin(query, now()) }
      return ok({ ...(await submissions(search, locations)), explorers })
    },
  }),
]
