import type { AccessService } from '../../access/service.js'
import { parseRestriction } from '../../access/tokens/restriction.js'
import { createOwnAccesses } from '../http/guard.js'
import { ok, route, type Route } from '../http/route.js'
import type { Catalog } from './catalog.js'
import type { CheckUrl } from './check.js'
import { toScope } from './own-access.js'
import type { FiguresOf } from './metrics/figures.js'
import { createMetricsRoute } from './metrics/routes.js'
import { createKeyRoutes } from './keys/routes.js'
import { createMemberRoutes } from './members/routes.js'
import * as limitShapes from './limit-shapes.js'
import { createIncidentRoute, type ListIncidents } from './incidents/incidents.js'
import { createOverviewRoutes, type TrafficOf } from './overview/overview.js'
import * as shapes from './shapes.js'
import type { ExportBounds } from './submissions/export.js'
import { createSubmissionRoutes, type SummaryOf } from './submissions/routes.js'
import type { Submissions } from './submissions/shapes.js'
import { createTokenRoutes } from './token-routes.js'
import { createUsageRoutes } from './usage/routes.js'
import type { Peak, Usage } from './usage.js'
import { toAccessView } from './views.js'
import { createWarningRoute, type ReadWarnings } from './warnings.js'
import { createAlertRoutes } from './webhook/alert-routes.js'
import { createWebhookRoutes, type WebhookParts } from './webhook/routes.js'

/** What the API is made of. */
export type ApiParts = {
  readonly accessService: AccessService
  readonly catalog: Catalog
  /** Calls a location with a token. */
  readonly checkUrl: CheckUrl
  readonly usage: Usage
  readonly now: () => number
  /** Whether this machine can prove that its accesses are current. */
  readonly isCurrent: () => boolean
  readonly docsUrl: string | undefined
  /** Live states of locations with these ids. */
  readonly locationStates: (ids: readonly string[]) => readonly shapes.LocationView[]
  readonly submissions: Submissions
  readonly exportBounds: ExportBounds
  readonly summary: SummaryOf
  readonly figures: FiguresOf
  readonly readWarnings: ReadWarnings
  readonly webhookParts: Omit<WebhookParts, 'now'>
  /** Makes the id of an alert rule. */
  readonly ruleId: () => string
  readonly traffic: TrafficOf
  readonly incidents: ListIncidents
  /** The machines of the cluster; undefined on a machine by itself, which has no such route. */
  readonly machines?: (() => readonly shapes.MachineView[]) | undefined
}

/** The highest peak; of equal ones the last. */
const highestOf = (peaks: readonly Peak[]): Omit<Peak, 'startMs'> | null => {
  const [highest] = peaks.toReversed().toSorted((one, other) => other.perSecond - one.perSecond)
  return highest === undefined ? null : { perSecond: highest.perSecond, atMs: highest.atMs }
}

const usageRoutes = ({ usage }: ApiParts): readonly Route[] => [
  route({
    method: 'GET',
    path: '/api/accesses/:accessId/networks/:network/locations/:location/usage',
    watchedMs: 10_000,
    guard: 'session',
    accessRole: 'view',
    apiKeyScope: 'usage:read',
    operatorAnswer: shapes.tokenUsage,
    summary: 'Usage of the network at the location per minute, and refused attempts',
    query: shapes.tokenUsageQuery,
    answers: { 200: { description: 'The last 24 hours', body: shapes.tokenUsage } },
    errors: ['notOffered', 'wrongInput'],
    handle: async ({ access, params, query }) => {
      const found = await usage.ofScope(toScope(access, params))
      const { clients: _clients, minutes, ...shown } = found
      return ok({ minutes: minutes.slice(minutes.length - query.minutes), ...shown })
    },
  }),
  route({
    method: 'GET',
    path: '/api/accesses/:accessId/networks/:network/locations/:location/clients',
    watchedMs: 10_000,
    guard: 'session',
    accessRole: 'view',
    apiKeyScope: 'usage:read',
    summary: 'Addresses that use the token, and which of them a restriction would refuse',
    query: shapes.clientsQuery,
    answers: { 200: { description: 'Of the last 24 hours', body: shapes.clients } },
    errors: ['notOffered', 'notPublicIpv4', 'wrongInput'],
    handle: async ({ access, params, query }) => {
      const scope = toScope(access, params)
      const only = parseRestriction(query.address)
      const { clients, missing } = await usage.ofScope(scope)
      const shown = clients.map(({ address, lastSeenMs }) => ({
        address,
        lastSeenMs,
        isRefused: only !== undefined && address !== only,
      }))
      return ok({ clients: shown, missing })
    },
  }),
  route({
    method: 'GET',
    path: '/api/accesses/:accessId/usage',
    watchedMs: 2_000,
    guard: 'session',
    accessRole: 'view',
    apiKeyScope: 'usage:read',
    operatorAnswer: limitShapes.accessUsage,
    summary: 'Limits of an access and their current utilisation',
    answers: {
      200: { description: 'Sums over all edges, of every machine', body: limitShapes.accessUsage },
    },
    handle: async ({ access }) => {
      const { accessId, limits, locations } = access
      const { peaks, means: _means, ...found } = await usage.ofAccess(accessId, locations)
      return ok({ limits, ...found, peak: highestOf(peaks) })
    },
  }),
]

const machineRoutes = ({ machines }: ApiParts): readonly Route[] =>
  machines === undefined
    ? []
    : [
        route({
          method: 'GET',
          path: '/api/accesses/:accessId/machines',
          watchedMs: 2_000,
          guard: 'session',
          accessRole: 'view',
          apiKeyScope: 'usage:read',
          operatorAnswer: shapes.machines,
          summary: 'The machines of the locations of an access',
          answers: {
            200: { description: 'In the order of their ids', body: shapes.machines },
          },
          handle: ({ access }) => {
            const own = machines().filter(({ location }) => access.locations.includes(location))
            const shown = own.map(machine =>
              Object.assign({}, machine, {
                slots: machine.slots.filter(({ network }) => access.networks.includes(network)),
              }),
            )
            return ok({ machines: shown })
          },
        }),
      ]

const locationRoute = ({ locationStates }: ApiParts): Route =>
  route({
    method: 'GET',
    path: '/api/accesses/:accessId/locations',
    watchedMs: 5_000,
    guard: 'session',
    accessRole: 'view',
    apiKeyScope: 'usage:read',
    operatorAnswer: shapes.locations,
    summary: 'Live states of the locations of an access',
    answers: { 200: { description: 'In the order of the access', body: shapes.locations } },
    handle: ({ access }) => {
      const shown = locationStates(access.locations).map(({ id, url, state, slots }) => ({
        id,
        url,
        state,
        slots: slots.filter(({ network }) => access.networks.includes(network)),
      }))
      return ok({ locations: shown })
    },
  })

/** Whether a token can be restricted to an address. */
const isRestrictable = (address: string): boolean => {
  try {
    return parseRestriction(address) !== undefined
  } catch {
    return false
  }
}

const addressRoute: Route = route({
  method: 'GET',
  path: '/api/address',
  guard: 'session',
  summary: 'The address from which this request came',
  answers: {
    200: { description: 'As a trusted proxy says, if one is in front', body: shapes.address },
  },
  handle: ({ client }) => ok({ address: client, isRestrictable: isRestrictable(client) }),
})

/** The API of the page. A signed-in person can only see accesses that are theirs or shared. */
export const createApi = (parts: ApiParts): readonly Route[] => {
  const { accessService, docsUrl, machines, now } = parts
  const ownAccesses = createOwnAccesses(accessService, parts.isCurrent)
  return [
    route({
      method: 'GET',
      path: '/api/accesses',
      guard: 'session',
      summary: 'Passes and rentals of the signed-in person, and those that they are a member of',
      answers: {
        200: {
          description: 'Those of the person first, each in the order of their ids',
          body: shapes.accesses,
        },
      },
      handle: ({ session }) =>
        ok({
          accesses: ownAccesses(session).map(own => toAccessView(parts, own, now())),
          ...(machines === undefined ? {} : { hasMachines: true }),
          docsUrl,
        }),
    }),
    addressRoute,
    locationRoute(parts),
    createWarningRoute(parts.readWarnings),
    ...createAlertRoutes({ ...parts, ...parts.webhookParts }),
    ...createWebhookRoutes({ now, ...parts.webhookParts }),
    ...createKeyRoutes(parts),
    ...createMemberRoutes(parts),
    createMetricsRoute(parts),
    ...createOverviewRoutes({
      ...parts,
      hasWebhook: id => parts.webhookParts.webhooks.of(id).length > 0,
    }),
    createIncidentRoute(parts),
    ...createTokenRoutes(parts),
    ...usageRoutes(parts),
    ...createUsageRoutes(parts),
    ...machineRoutes(parts),
    ...createSubmissionRoutes(parts),
  ]
}
