import { setImmediate as yieldTurn } from 'node:timers/promises'
import type * as v from 'valibot'
import { stateOf } from '../../../access/accesses/access-manager.js'
import type { AccessService } from '../../../access/service.js'
import type { Access } from '../../../access/store/tables.js'
import { ok, route, type Route } from '../../http/route.js'
import { toTokenView } from '../admin-tokens.js'
import type { ListIncidents } from '../incidents/incidents.js'
import type { AuditSearch } from '../read-audit.js'
import type { LocationView, MachineView } from '../shapes.js'
import * as shapes from './operator-shapes.js'
import { createServiceRoutes, type ServiceUsage } from './service.js'

/** How each lane of this machine is. */
export type LaneStates = () => v.InferOutput<typeof shapes.lanes>['states']

/** Entries of the audit logs of all machines. */
export type ListAudit = (search: AuditSearch) => Promise<v.InferOutput<typeof shapes.audit>>

/** What an operator sees. Nothing here changes anything, and no token is shown. */
export type OperatorParts = {
  readonly accessService: AccessService
  readonly audit: ListAudit
  /** The verified e-mail address of a person who is signed in at this machine. */
  readonly emailOf: (subject: string) => string | undefined
  readonly service: ServiceUsage
  /** What became of all submissions, by lane, over the last hours. */
  readonly lanes: (hours: number) => Promise<v.InferOutput<typeof shapes.lanes>>
  readonly incidents: ListIncidents
  /** Ids of all locations of the configuration. */
  readonly locationIds: readonly string[]
  readonly locationStates: (ids: readonly string[]) => readonly LocationView[]
  readonly machines?: (() => readonly MachineView[]) | undefined
  readonly now: () => number
}

/** Accesses, or incidents, of one page. */
const PAGE_MAX = 50
/** Accesses that one search looks at; the next page continues after them. */
const SCANNED_MAX = 10_000
const SCAN_PAGE = 500

const isFound = (find: string, access: Access, emailOf: OperatorParts['emailOf']): boolean => {
  const { accessId, subject, product, label, holderLabel = '', members = [] } = access
  const addresses = members.map(member => member.email)
  const all = [accessId, subject, product, label, holderLabel, ...addresses].join('\n')
  const wanted = find.toLowerCase()
  return (
    all.toLowerCase().includes(wanted) ||
    (emailOf(subject)?.toLowerCase().includes(wanted) ?? false)
  )
}

/** A page of the accesses that match, and the `after` of the next one. */
const search = async (
  { accessService, emailOf }: Pick<OperatorParts, 'accessService' | 'emailOf'>,
  { find, after }: { readonly find: string; readonly after: string },
): Promise<{ readonly accesses: readonly Access[]; readonly next: string | null }> => {
  const accesses: Access[] = []
  let last = after
  for (let scanned = 0; scanned < SCANNED_MAX; scanned += SCAN_PAGE) {
    const page = accessService.page(last, SCAN_PAGE)
    for (const access of page) {
      last = access.accessId
      if (isFound(find, access, emailOf)) accesses.push(access)
      if (accesses.length === PAGE_MAX) return { accesses, next: last }
    }
    if (page.length < SCAN_PAGE) return { accesses, next: null }
    // Others are answered in between.
    await yieldTurn()
  }
  return { accesses, next: last }
}

const listRoutes = (parts: OperatorParts): readonly Route[] => {
  const { accessService, audit, incidents, now } = parts
  return [
    route({
      method: 'GET',
      path: '/api/operator/accesses',
      guard: 'session',
      needsOperator: true,
      summary: 'Accesses of all persons, with their tokens masked',
      query: shapes.accessQuery,
      answers: { 200: { description: 'In the order of their ids', body: shapes.accesses } },
      errors: ['wrongInput'],
      handle: async ({ query }) => {
        const { accesses, next } = await search(parts, query)
        const shown = accesses.map(access =>
          Object.assign({}, access, {
            email: parts.emailOf(access.subject) ?? null,
            state: stateOf(access, now()),
            tokens: accessService.list(access.accessId).map(toTokenView),
          }),
        )
        return ok({ accesses: shown, next })
      },
    }),
    route({
      method: 'GET',
      path: '/api/operator/incidents',
      guard: 'session',
      needsOperator: true,
      summary: 'Incidents of all locations and machines',
      query: shapes.incidentQuery,
      answers: { 200: { description: 'Newest first', body: shapes.incidentPage } },
      errors: ['wrongInput'],
      handle: ({ query: { before } }) => {
        const page = incidents({ before: before === '' ? undefined : before, limit: PAGE_MAX })
        const next = page.length === PAGE_MAX ? page.at(-1)?.id : undefined
        return ok({ incidents: page, next: next ?? null })
      },
    }),
    route({
      method: 'GET',
      path: '/api/operator/audit',
      guard: 'session',
      needsOperator: true,
      summary: 'Who changed accesses and tokens, saw a token or signed in, at all machines',
      query: shapes.auditQuery,
      answers: { 200: { description: 'Newest first', body: shapes.audit } },
      errors: ['wrongInput'],
      handle: async ({ query }) => ok(await audit(query)),
    }),
  ]
}

/** Routes of the operator's page, for the subjects that the configuration names. */
export const createOperatorRoutes = (parts: OperatorParts): readonly Route[] => {
  const { lanes, locationIds, locationStates, machines } = parts
  return [
    ...listRoutes(parts),
    ...createServiceRoutes(parts),
    route({
      method: 'GET',
      path: '/api/operator/lanes',
      guard: 'session',
      needsOperator: true,
      summary: 'Landing rate and delay of all submissions, by lane and tip, of all machines',
      query: shapes.laneQuery,
      answers: { 200: { description: 'Of the last hours with this one', body: shapes.lanes } },
      errors: ['wrongInput'],
      handle: async ({ query: { hours } }) => ok(await lanes(Number(hours))),
    }),
    route({
      method: 'GET',
      path: '/api/operator/nodes',
      watchedMs: 5_000,
      guard: 'session',
      needsOperator: true,
      summary: 'States of all locations, and the machines of the cluster',
      answers: { 200: { description: 'In the order of their ids', body: shapes.nodes } },
      handle: () => ok({ locations: locationStates(locationIds), machines: machines?.() ?? null }),
    }),
  ]
}
