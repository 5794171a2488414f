import { randomBytes } from 'node:crypto'
import type { AuditLog } from '../access/audit/audit-log.js'
import type { AccessService } from '../access/service.js'
import type { ApiKeyManager } from '../access/keys/key-manager.js'
import type { AdminTokens } from '../access/tokens/admin-tokens.js'
import type { WebhookManager } from '../access/webhooks/webhook-manager.js'
import type { ControlStore } from '../access/store/control-store.js'
import type { ControlConfig } from '../config/child-config.js'
import { createApi } from '../dashboard/api/api.js'
import type { FiguresOf } from '../dashboard/api/metrics/figures.js'
import type { SummaryOf } from '../dashboard/api/submissions/routes.js'
import type { Submissions } from '../dashboard/api/submissions/shapes.js'
import type { Catalog } from '../dashboard/api/catalog.js'
import type { CheckUrl } from '../dashboard/api/check.js'
import { createOperatorAccessRoutes } from '../dashboard/api/operator/access-routes.js'
import { createOperatorRoutes, type ListAudit } from '../dashboard/api/operator/operator.js'
import type { ServiceUsage } from '../dashboard/api/operator/service.js'
import { createViewAudit } from '../dashboard/api/operator/view-audit.js'
import type { ListIncidents } from '../dashboard/api/incidents/incidents.js'
import type { TrafficOf } from '../dashboard/api/overview/overview.js'
import { createCookies } from '../dashboard/http/cookies.js'
import { createPathAccess, type GuardParts } from '../dashboard/http/guard.js'
import { createOpenApiRoute } from '../dashboard/api/openapi.js'
import { createPendingSeal } from '../dashboard/auth/pending-sign-in.js'
import type { Route } from '../dashboard/http/route.js'
import { createSecurityHeaders } from '../dashboard/http/security-headers.js'
import { openDashboard, type Dashboard } from '../dashboard/http/server.js'
import { RateLimits } from '../dashboard/http/rate-limits.js'
import { createSessionRoutes } from '../dashboard/auth/session-routes.js'
import { createSessionListRoutes } from '../dashboard/auth/session-list-routes.js'
import { createSessions, type Sessions } from '../dashboard/auth/session.js'
import { createSignIn } from '../dashboard/auth/sign-in.js'
import type { LocationView, MachineView } from '../dashboard/api/shapes.js'
import type { Usage } from '../dashboard/api/usage.js'
import { EventStreams } from '../dashboard/events/event-streams.js'
import { createEventRoute } from '../dashboard/events/route.js'
import { createStateOf } from '../dashboard/events/state.js'
import { createWatches } from '../dashboard/events/watches.js'
import { createStatusRoutes } from '../dashboard/status/routes.js'
import { createReadStatus } from '../dashboard/status/status.js'
import { createReadWarnings, type ReadWarnings } from '../dashboard/api/warnings.js'
import { randomBase62 } from '../access/tokens/location-token.js'
import type { Log } from '../shared/log.js'
import type { Metrics } from '../shared/metrics.js'
import { createAuditRecord } from './accesses/audit-record.js'
import { openDeliveries } from './deliveries.js'
import type { LanesOf } from './lanes.js'
import { publicUrlOf } from './public-url.js'

/** What the dashboard of control is made of. */
export type ControlDashboardParts = {
  readonly config: ControlConfig
  readonly store: ControlStore
  readonly accessService: AccessService
  readonly webhooks: WebhookManager
  readonly auditLog: AuditLog
  readonly audit: ListAudit
  /** A socket that this process inherited and that listens at the dashboard's address. */
  readonly descriptor?: number | undefined
  readonly catalog: Catalog
  /** Calls a location with a token. */
  readonly checkUrl: CheckUrl
  readonly usage: Usage
  /** Absent: every admin route is refused. */
  readonly adminTokens: Pick<AdminTokens, 'holderOf'> | undefined
  readonly apiKeys: Pick<ApiKeyManager, 'find' | 'noteUse'>
  /** Whether the lease of this machine has not ended. */
  readonly isCurrent: () => boolean
  readonly adminRoutes: readonly Route[]
  readonly log: Log
  readonly metrics: Metrics
  readonly now: () => number
  /** The built page. */
  readonly pagesDir: string
  readonly submissions: Submissions
  readonly traffic: TrafficOf
  readonly incidents: ListIncidents
  readonly service: ServiceUsage
  readonly lanes: LanesOf
  readonly summary: SummaryOf
  readonly figures: FiguresOf
  /** Address of the client of a TCP peer, which may be a trusted proxy. */
  readonly clientOf: (peer: string, forwardedFor: string) => string
  readonly locationStates: (ids: readonly string[]) => readonly LocationView[]
  readonly machines?: (() => readonly MachineView[]) | undefined
}

const RULE_ID_CHARS = 12

const openStreams = (parts: ControlDashboardParts, sessions: Pick<Sessions, 'isValid'>) =>
  new EventStreams({
    options: parts.config.dashboard.events,
    stateOf: createStateOf(parts),
    isValid: id => sessions.isValid(id),
    elapsed: () => performance.now(),
    onError: error => parts.log.error({ err: error }, 'changes cannot be reported to open pages'),
  })

/** Of changes by one person, of requests with one API key, and of attempts that fail. */
const createRateLimits = (options: ControlConfig['dashboard']) => ({
  changes: new RateLimits({
    perMinuteMax: options.changesPerMinuteMax,
    burstMax: options.changesBurstMax,
    keysMax: options.rateKeysMax,
  }),
  keyRequests: new RateLimits({
    perMinuteMax: options.keyRequestsPerMinuteMax,
    burstMax: options.keyRequestsBurstMax,
    keysMax: options.rateKeysMax,
  }),
  keyChanges: new RateLimits({
    perMinuteMax: options.changesPerMinuteMax,
    burstMax: options.changesBurstMax,
    keysMax: options.rateKeysMax,
  }),
  failures: new RateLimits({
    perMinuteMax: options.failuresPerMinuteMax,
    burstMax: options.failuresBurstMax,
    keysMax: options.rateKeysMax,
  }),
})

/** Finds what a page watches of these routes. */
const openWatches = (
  parts: ControlDashboardParts,
  routes: readonly Route[],
  noteView: GuardParts['noteView'],
) =>
  createWatches(
    routes,
    parts.config.dashboard.operators,
    createPathAccess({
      findAccess: accessId => parts.accessService.find(accessId),
      isCurrent: () => parts.isCurrent(),
      noteView,
    }),
  )

/** The API of the holders of accesses. */
const createHolderRoutes = (
  parts: ControlDashboardParts,
  readWarnings: ReadWarnings,
  deliveries: ReturnType<typeof openDeliveries>,
): readonly Route[] => {
  const { dashboard, submissionStore } = parts.config
  return createApi({
    ...parts,
    exportBounds: submissionStore,
    docsUrl: dashboard.docsUrl,
    readWarnings,
    ruleId: () => `rule_${randomBase62(RULE_ID_CHARS, randomBytes)}`,
    webhookParts: { webhooks: parts.webhooks, deliveries, options: dashboard.webhooks },
  })
}

/** Opens the dashboard of control: page, sign-in, API and admin API. */
export const openControlDashboard = async (parts: ControlDashboardParts): Promise<Dashboard> => {
  const { config, store, log, now } = parts
  const options = config.dashboard
  const publicUrl = publicUrlOf(config)
  const cookies = createCookies(publicUrl)
  const sessions = createSessions({
    store,
    options,
    randomBytes,
    now,
    onError: error => log.error({ err: error }, 'the last use of a session was not stored'),
  })
  const signIn =
    options.identity &&
    createSignIn({
      identity: options.identity,
      publicUrl,
      pendingSeal: createPendingSeal(now),
      options,
      now,
    })
  const limits = createRateLimits(options)
  const readWarnings = createReadWarnings({ ...parts, options: options.warnings })
  const streams = openStreams(parts, sessions)
  const locationIds = config.locations.map(({ id }) => id)
  const emailOf = (subject: string) => sessions.emailOf(subject)
  const deliveries = openDeliveries(options.webhooks, { ...parts, readWarnings })
  const audit = createAuditRecord(parts.auditLog, log)
  const noteView = createViewAudit(audit, now)
  const holderRoutes = createHolderRoutes(parts, readWarnings, deliveries)
  const routes = [
    ...createSessionRoutes({ signIn, sessions, cookies, log, failures: limits.failures, options }),
    ...createSessionListRoutes(sessions),
    ...holderRoutes,
    ...createOperatorRoutes({ ...parts, locationIds, emailOf }),
    ...createOperatorAccessRoutes(parts, holderRoutes),
    ...createStatusRoutes(createReadStatus({ ...parts, ...options, locationIds }), options),
    ...parts.adminRoutes,
  ]
  const all = [createEventRoute(streams, openWatches(parts, routes, noteView)), ...routes]
  const origins = locationIds.flatMap(id => {
    const location = parts.catalog.location(id)
    return location === undefined ? [] : [location.rpcOrigin, location.wsOrigin]
  })
  const dashboard = await openDashboard({
    options,
    ...limits,
    publicUrl,
    routes: [...all, createOpenApiRoute(all)],
    pagesDir: parts.pagesDir,
    headers: createSecurityHeaders(publicUrl, origins),
    cookies,
    adminTokens: parts.adminTokens,
    apiKeys: parts.apiKeys,
    findAccess: accessId => parts.accessService.find(accessId),
    isCurrent: () => parts.isCurrent(),
    log,
    clientOf: (peer, forwardedFor) => parts.clientOf(peer, forwardedFor),
    session: (id, address) => sessions.find(id, address),
    audit,
    noteView,
    descriptor: parts.descriptor,
    now,
  })
  const sweep = setInterval(() => {
    sessions
      .sweep()
      .catch((error: unknown) => log.error({ err: error }, 'expired sessions were not removed'))
  }, options.sessionSweepMs)
  return {
    port: dashboard.port,
    close: async () => {
      clearInterval(sweep)
      streams.close()
      await dashboard.close()
      await deliveries.stop()
    },
  }
}
