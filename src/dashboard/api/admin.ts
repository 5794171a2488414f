import type { AccessService, Effective } from '../../access/service.js'
import { stateOf } from '../../access/accesses/access-manager.js'
import { toAmended, toNewAccess, type Product } from '../../access/accesses/product.js'
import type { Access } from '../../access/store/tables.js'
import { RpcError } from '../../shared/errors.js'
import { ok, route, type Answer, type Route } from '../http/route.js'
import { CHANGE_ERRORS } from './change-errors.js'
import { answerChange, changeAnswers } from './effect.js'
import * as shapes from './admin-shapes.js'
import type { AuditLog } from '../../access/audit/audit-log.js'
import type { DayQuery, UsageDays } from '../../usage/days.js'
import { formatDay } from '../../usage/scope.js'
import type { AdminTokens } from '../../access/tokens/admin-tokens.js'
import type { Resealer } from '../../access/tokens/resealer.js'
import { createAdminTokenRoutes, toTokenView } from './admin-tokens.js'
import { createOwnTokenRoutes } from './maintenance/own-token-routes.js'
import { createResealRoutes } from './maintenance/reseal-routes.js'
import type { Catalog } from './catalog.js'
import { readAudit } from './read-audit.js'

/** What the admin API is made of. */
export type AdminParts = {
  readonly accessService: AccessService
  readonly catalog: Catalog
  readonly products: readonly Product[]
  readonly auditLog: AuditLog
  readonly adminTokens: AdminTokens
  readonly resealer: Resealer
  /** What all machines of the cluster have counted, or this one by itself, by days. */
  readonly usageDays: (query: DayQuery) => UsageDays
  readonly now: () => number
}

const ACCESS = '/admin/accesses/:accessId'

const find = (accessService: AccessService, accessId: string): Access => {
  const access = accessService.find(accessId)
  if (access === undefined) throw new RpcError('noSuchAccess')
  return access
}

const toView = ({ accessService, now }: AdminParts, access: Access) => ({
  ...access,
  state: stateOf(access, now()),
  tokens: accessService.list(access.accessId).map(toTokenView),
})

/** The answer to a change of an access. */
const answerAccess = (parts: AdminParts, { effect, ...access }: Access & Effective): Answer =>
  answerChange(toView(parts, access), effect)

/** A page of all accesses, and the `after` of the next page. */
const pageOf = (accessService: AccessService, after: string, limit: number) => {
  const accesses = accessService.page(after, limit)
  const last = accesses.length === limit ? accesses.at(-1) : undefined
  return { accesses, next: last?.accessId ?? null }
}

/** The route of the operator for what is billed. */
const createUsageRoute = ({ usageDays }: AdminParts): Route =>
  route({
    method: 'GET',
    path: '/admin/usage',
    guard: 'admin',
    summary: 'Requests by day, access, network, location and method, of all machines of a cluster',
    query: shapes.usageQuery,
    answers: { 200: { description: 'Whole days, the oldest first', body: shapes.usage } },
    errors: ['wrongInput'],
    handle: async ({ query: { from = 0, until = Infinity, access: accessId, limit } }) => {
      const rows: object[] = []
      const { days, missing } = usageDays({ from, until, accessId })
      const page = (next: string | null): Answer =>
        ok({ rows, next, ...(missing === undefined ? {} : { missing: missing() }) })
      for await (const { day, rows: found } of days) {
        if (rows.length >= limit) return page(formatDay(day))
        for (const row of found) rows.push({ day: formatDay(day), ...row })
      }
      return page(null)
    },
  })

/** The route of the operator for the audit log. */
const createAuditRoute = ({ auditLog, now }: AdminParts): Route =>
  route({
    method: 'GET',
    path: '/admin/audit',
    guard: 'admin',
    summary: 'Who changed accesses and tokens, saw a token or signed in',
    query: shapes.auditQuery,
    answers: { 200: { description: 'The newest first', body: shapes.audit } },
    errors: ['wrongInput'],
    handle: async ({ query }) => ok(await readAudit(auditLog, query, now())),
  })

/** The route of the operator that changes what an access has. */
const createAmendRoute = (parts: AdminParts): Route => {
  const { accessService, products, now } = parts
  return route({
    method: 'POST',
    path: `${ACCESS}/amend`,
    guard: 'admin',
    summary: 'Change what an access has; tokens of what it loses are revoked when this is answered',
    audit: 'amend',
    body: shapes.amendment,
    answers: changeAnswers('In effect', shapes.changedAccess),
    errors: [
      'wrongInput',
      'noSuchAccess',
      'noSuchProduct',
      'notInProduct',
      'nothingGranted',
      'endPassed',
      ...CHANGE_ERRORS,
    ],
    handle: async ({ params, body }) => {
      if (Object.keys(body).length === 0)
        throw new RpcError('wrongInput', { field: 'body', problem: 'must name a change' })
      const changed = await accessService.amend(params.accessId, current =>
        toAmended(products, body, current, now()),
      )
      return answerAccess(parts, changed)
    },
  })
}

/** Routes of the operator for the secrets of the service itself. */
const createSecretRoutes = ({ adminTokens, resealer }: AdminParts): readonly Route[] => [
  ...createOwnTokenRoutes(adminTokens),
  ...createResealRoutes(resealer),
]

/** Routes of the operator for the accesses and tokens of all subjects. */
export const createAdminApi = (parts: AdminParts): readonly Route[] => {
  const { accessService, products, now } = parts
  return [
    route({
      method: 'POST',
      path: '/admin/accesses',
      guard: 'admin',
      summary: 'Grant an access to a product',
      audit: 'grant',
      body: shapes.grant,
      answers: { 201: { description: 'The access', body: shapes.access } },
      errors: [
        'wrongInput',
        'noSuchProduct',
        'notInProduct',
        'nothingGranted',
        'endPassed',
        ...CHANGE_ERRORS,
      ],
      handle: async ({ body }) => {
        const access = await accessService.grant(toNewAccess(products, body, now()))
        return { status: 201, body: toView(parts, access) }
      },
    }),
    route({
      method: 'GET',
      path: '/admin/accesses',
      guard: 'admin',
      summary: 'All accesses of one subject, or a page of all accesses',
      query: shapes.listQuery,
      answers: { 200: { description: 'In the order of their ids', body: shapes.accesses } },
      errors: ['wrongInput'],
      handle: ({ query: { subject, after, limit } }) => {
        const { accesses, next } =
          subject === undefined
            ? pageOf(accessService, after, limit)
            : { accesses: accessService.listOf(subject), next: null }
        return ok({ accesses: accesses.map(access => toView(parts, access)), next })
      },
    }),
    route({
      method: 'GET',
      path: ACCESS,
      guard: 'admin',
      summary: 'An access with its tokens',
      answers: {
        200: { description: 'The access; secrets of tokens are not included', body: shapes.access },
      },
      errors: ['noSuchAccess'],
      handle: ({ params }) => ok(toView(parts, find(accessService, params.accessId))),
    }),
    route({
      method: 'POST',
      path: `${ACCESS}/extend`,
      guard: 'admin',
      summary: 'Set the end of an access; tokens of an ended one are valid again',
      audit: 'extend',
      body: shapes.extension,
      answers: changeAnswers('In effect', shapes.changedAccess),
      errors: ['wrongInput', 'noSuchAccess', 'endPassed', ...CHANGE_ERRORS],
      handle: async ({ params, body }) =>
        answerAccess(parts, await accessService.extend(params.accessId, body.validUntilMs)),
    }),
    route({
      method: 'POST',
      path: `${ACCESS}/end`,
      guard: 'admin',
      summary: 'End an access now; its tokens are kept, but rejected',
      audit: 'end',
      answers: changeAnswers('In effect', shapes.changedAccess),
      errors: ['noSuchAccess', ...CHANGE_ERRORS],
      handle: async ({ params }) => answerAccess(parts, await accessService.end(params.accessId)),
    }),
    createAmendRoute(parts),
    createAuditRoute(parts),
    createUsageRoute(parts),
    ...createAdminTokenRoutes(parts),
    ...createSecretRoutes(parts),
  ]
}
