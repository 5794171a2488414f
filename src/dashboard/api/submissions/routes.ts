import type * as v from 'valibot'
import { MINUTE_MS } from '../../../usage/scope.js'
import { ok, route, type Route } from '../../http/route.js'
import type { Catalog } from '../catalog.js'
import { timesOf } from '../usage/shapes.js'
import { collect, toCsv, type ExportBounds } from './export.js'
import * as shapes from './shapes.js'

/** How the submissions of an access went; at its locations, in a time, by period. */
export type SummaryOf = (
  accessId: string,
  locations: readonly string[],
  times: ReturnType<typeof timesOf>,
) => Promise<v.InferOutput<typeof shapes.summary>>

export type SubmissionRouteParts = {
  readonly catalog: Catalog
  readonly submissions: shapes.Submissions
  readonly exportBounds: ExportBounds
  readonly summary: SummaryOf
  readonly now: () => number
}

type Asked = Pick<
  v.InferOutput<typeof shapes.submissionsQuery>,
  'fromMs' | 'span' | 'step' | 'untilMs'
>

/** A query with the begin of its span, which is that of a summary of the same. */
const withBegin = <Q extends Asked>(
  { span, step = MINUTE_MS, ...query }: Q,
  nowMs: number,
): Omit<Q, 'span' | 'step'> => {
  if (span === undefined || query.fromMs !== undefined) return query
  const { fromMs } = timesOf({ from: undefined, span, step, until: query.untilMs }, nowMs)
  return { ...query, fromMs }
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

const summaryRoute = ({ now, summary }: SubmissionRouteParts): Route =>
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
    answers: { 200: { description: 'Of the time', body: shapes.summary } },
    errors: ['wrongInput'],
    handle: async ({ access, query }) => {
      const { accessId, locations } = access
      return ok(await summary(accessId, locations, timesOf(query, now())))
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
