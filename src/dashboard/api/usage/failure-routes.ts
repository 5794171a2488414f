import type * as v from 'valibot'
import type { AccessService } from '../../../access/service.js'
import type { Access } from '../../../access/store/tables.js'
import { FAILURES_MAX } from '../../../usage/schema.js'
import { DAY_MS, MINUTE_MS } from '../../../usage/scope.js'
import { CHANGE_ERRORS } from '../change-errors.js'
import { answerChange, changeAnswers } from '../effect.js'
import { toCsvLine } from '../../http/csv.js'
import { ok, route, type Route } from '../../http/route.js'
import type { FailedRequest, Usage } from '../usage.js'
import * as shapes from './failure-shapes.js'
import { timesOf } from './shapes.js'

type Parts = {
  readonly accessService: AccessService
  readonly usage: Pick<Usage, 'failures'>
  readonly now: () => number
}

/** Parameters are kept for this long after the holder has chosen so. */
const PARAMS_MS = DAY_MS

const COLUMNS = [
  ...['time', 'network', 'location', 'method', 'code', 'message', 'origin', 'address'],
  ...['request', 'bytes', 'elapsedMs', 'slot', 'parameters'],
]

/** A CSV file (RFC 4180) of failed requests. */
const toCsv = (failures: readonly FailedRequest[]): string =>
  toCsvLine(COLUMNS) +
  failures
    .map(({ atMs, network, location, method, code, text, origin, address, ...more }) =>
      toCsvLine([
        ...[new Date(atMs).toISOString(), network, location, method, code, text, origin, address],
        ...[more.request, more.bytes ?? '', more.elapsedMs ?? '', more.slot ?? '', more.params],
      ]),
    )
    .join('')

type AskedTimes = Pick<
  v.InferOutput<typeof shapes.failuresQuery>,
  'from' | 'span' | 'step' | 'until'
>

/** Later, and longer, than any failed request. */
const ALWAYS_MS = 999_999_999_999_999

/** The times of a query, in place of how it names them. */
const withTimes = <Q extends AskedTimes>(
  { from, span = ALWAYS_MS, step = MINUTE_MS, until, ...filters }: Q,
  nowMs: number,
) => {
  const { fromMs } = timesOf({ from, span, step, until }, nowMs)
  // The clock of another machine may be ahead.
  return { ...filters, fromMs, untilMs: until ?? ALWAYS_MS }
}

const toParamsUntil = ({ paramsUntilMs = 0 }: Access, nowMs: number): number | null =>
  paramsUntilMs > nowMs ? paramsUntilMs : null

const exportRoute = ({ now, usage }: Parts): Route =>
  route({
    method: 'GET',
    path: '/api/accesses/:accessId/failures/export',
    guard: 'session',
    accessRole: 'view',
    apiKeyScope: 'usage:read',
    isRateLimited: true,
    summary: `A file of the newest ${FAILURES_MAX} failed requests that match`,
    query: shapes.failuresExportQuery,
    answers: {
      200: {
        description:
          'As an attachment: CSV (RFC 4180), or the list of the page as JSON. `X-Missing` names ' +
          'the machines of a cluster whose part it lacks.',
      },
    },
    errors: ['wrongInput'],
    handle: async ({ access, query: { format, ...asked } }) => {
      const { accessId, locations } = access
      const query = { ...withTimes(asked, now()), limit: FAILURES_MAX }
      const { failures, missing } = await usage.failures(accessId, query, locations)
      return {
        status: 200,
        text: format === 'csv' ? toCsv(failures) : JSON.stringify({ failures }),
        headers: {
          'Content-Type': format === 'csv' ? 'text/csv; charset=utf-8' : 'application/json',
          'Content-Disposition': `attachment; filename="failures-${accessId}.${format}"`,
          ...(missing !== undefined && missing.length > 0 && { 'X-Missing': missing.join(', ') }),
        },
      }
    },
  })

/** Failed requests of an access, and whether their parameters are kept. */
export const createFailureRoutes = (parts: Parts): readonly Route[] => {
  const { accessService, usage, now } = parts
  return [
    route({
      method: 'GET',
      path: '/api/accesses/:accessId/failures',
      watchedMs: 10_000,
      guard: 'session',
      accessRole: 'view',
      apiKeyScope: 'usage:read',
      operatorAnswer: shapes.operatorFailures,
      summary: 'Failed requests of an access, with how many of each kind there are',
      query: shapes.failuresQuery,
      answers: { 200: { description: 'Newest first', body: shapes.failures } },
      errors: ['wrongInput'],
      handle: async ({ access, query }) => {
        const { accessId, locations } = access
        const found = await usage.failures(accessId, withTimes(query, now()), locations)
        return ok({ ...found, paramsUntilMs: toParamsUntil(access, now()) })
      },
    }),
    exportRoute(parts),
    route({
      method: 'PUT',
      path: '/api/accesses/:accessId/failures/parameters',
      guard: 'session',
      accessRole: 'manage',
      isRateLimited: true,
      summary: 'Keep the parameters of failed calls for 24 hours, or no longer',
      audit: 'keep-parameters',
      body: shapes.paramsSwitch,
      answers: changeAnswers('In effect', shapes.paramsState),
      errors: [...CHANGE_ERRORS],
      handle: async ({ access, body }) => {
        const untilMs = body.isOn ? now() + PARAMS_MS : 0
        const { effect, ...kept } = await accessService.keepParams(access.accessId, untilMs)
        return answerChange({ paramsUntilMs: toParamsUntil(kept, now()) }, effect)
      },
    }),
  ]
}
