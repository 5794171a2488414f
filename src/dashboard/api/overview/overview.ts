import type { AccessService } from '../../../access/service.js'
import type { Access } from '../../../access/store/tables.js'
import { RpcError } from '../../../shared/errors.js'
import { createOwnAccesses } from '../../http/guard.js'
import { ok, route, type Route } from '../../http/route.js'
import { CHANGE_ERRORS } from '../change-errors.js'
import * as shapes from './overview-shapes.js'
import type { LocationView } from '../shapes.js'
import type { Awaitable, Missing } from '../answers.js'

/** Traffic of all scopes of accesses. */
export type TrafficOf = (
  accesses: readonly Pick<Access, 'accessId' | 'networks' | 'locations'>[],
) => Awaitable<
  {
    readonly scopes: readonly shapes.ScopeTraffic[]
    /** With any of the accesses, in the last 30 days. */
    readonly hasCalled: boolean
    readonly hasLanded: boolean
  } & Missing
>

export type OverviewParts = {
  readonly accessService: AccessService
  readonly traffic: TrafficOf
  readonly hasWebhook: (accessId: string) => boolean
  readonly locationStates: (ids: readonly string[]) => readonly LocationView[]
  /** Whether this machine can prove that its accesses are current. */
  readonly isCurrent: () => boolean
}

/** Characters that are not seen, or change the direction of what follows; halves of a pair. */
const UNSAFE =
  /[\p{Cc}\p{Cs}\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\uffff]/u

/** A label in one form of its characters. Throws an RpcError for one that could mislead. */
export const toLabel = (text: string): string => {
  const label = text.normalize('NFC')
  if (UNSAFE.test(label))
    throw new RpcError('wrongInput', { field: 'body.label', problem: shapes.labelProblem })
  return label.trim()
}

/** The overview of all accesses of a person, and their names for them. */
export const createOverviewRoutes = (parts: OverviewParts): readonly Route[] => {
  const { accessService, hasWebhook, traffic, locationStates } = parts
  const ownAccesses = createOwnAccesses(accessService, parts.isCurrent)
  return [
    route({
      method: 'GET',
      path: '/api/overview',
      watchedMs: 10_000,
      guard: 'session',
      summary: 'State and traffic of all networks and locations of the accesses of the person',
      answers: { 200: { description: 'In the order of the accesses', body: shapes.overview } },
      handle: async ({ session }) => {
        const before = ownAccesses(session).map(({ access }) => access)
        const { scopes, hasCalled, hasLanded, missing } = await traffic(before)
        // Some may have been taken away meanwhile.
        const accesses = ownAccesses(session).map(({ access }) => access)
        const ids = new Set(accesses.map(({ accessId }) => accessId))
        const tails = new Map(
          accesses.flatMap(({ accessId }) =>
            accessService
              .list(accessId)
              .map(({ network, location, tail }) => [`${accessId} ${network} ${location}`, tail]),
          ),
        )
        const networks = new Set(accesses.flatMap(access => access.networks))
        const locationIds = [...new Set(accesses.flatMap(access => access.locations))].toSorted()
        const locations = locationStates(locationIds).map(({ slots, ...location }) =>
          Object.assign(location, { slots: slots.filter(({ network }) => networks.has(network)) }),
        )
        const shown = scopes
          .filter(({ accessId }) => ids.has(accessId))
          .map(scope => {
            const key = `${scope.accessId} ${scope.network} ${scope.location}`
            return Object.assign({}, scope, { tail: tails.get(key) ?? null })
          })
        const tokens = accesses.flatMap(({ accessId }) => accessService.list(accessId))
        const steps = {
          token: tokens.length > 0,
          call: hasCalled,
          restrict: tokens.some(({ address }) => address !== undefined),
          webhook: accesses.some(({ accessId }) => hasWebhook(accessId)),
          land: hasLanded,
        }
        return ok({ scopes: shown, locations, steps, missing })
      },
    }),
    route({
      method: 'PUT',
      path: '/api/accesses/:accessId/label',
      guard: 'session',
      accessRole: 'manage',
      isRateLimited: true,
      summary: 'Name an access; blank removes the name',
      audit: 'relabel',
      body: shapes.label,
      answers: { 204: { description: 'The name is stored' } },
      errors: [...CHANGE_ERRORS],
      handle: async ({ access, body }) => {
        const { accessId } = access
        await accessService.relabel(accessId, toLabel(body.label))
        return { status: 204 }
      },
    }),
  ]
}
