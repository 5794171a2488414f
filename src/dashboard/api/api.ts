import type { AccessService } from '../../access/service.js'
import type { TokenInfo } from '../../access/tokens/token-manager.js'
import { stateOf } from '../../access/accesses/access-manager.js'
import type { Access, TokenScope } from '../../access/store/tables.js'
import { RpcError } from '../../shared/errors.js'
import type { Catalog } from './catalog.js'
import { route, type Answer, type Route } from '../http/route.js'
import * as shapes from './shapes.js'
import type { Session } from '../auth/session.js'
import type { Usage } from './usage.js'

/** What the API is made of. */
export type ApiParts = {
  readonly accessService: AccessService
  readonly catalog: Catalog
  readonly usage: Usage
  readonly now: () => number
  /** Newest first. */
  submissions(accessId: string, limit: number): readonly shapes.SubmissionView[]
}

const SCOPE = '/api/accesses/:accessId/networks/:network/locations/:location'
/** Beside the characters that are shown: enough to see that something is hidden. */
const MASK = 'slt_••••••••'

const ok = (body: unknown): Answer => ({ status: 200, body })

/** Routes of accesses, their tokens and their use. Whoever calls sees their own accesses only. */
export const createApi = ({
  accessService,
  catalog,
  usage,
  now,
  submissions,
}: ApiParts): readonly Route[] => {
  /** Somebody else's access is answered as one that does not exist: its id tells nothing. */
  const ownAccess = (session: Session, accessId: string): Access => {
    const access = accessService.find(accessId)
    if (access === undefined || access.subject !== session.subject)
      throw new RpcError('noSuchAccess')
    return access
  }

  const ownScope = (session: Session, scope: TokenScope): TokenScope => {
    const access = ownAccess(session, scope.accessId)
    if (!access.networks.includes(scope.network))
      throw new RpcError('notOffered', { what: 'network' })
    if (!access.locations.includes(scope.location))
      throw new RpcError('notOffered', { what: 'location' })
    return scope
  }

  const tokenAt = ({ accessId, network, location }: TokenScope): TokenInfo | undefined =>
    accessService
      .list(accessId)
      .find(token => token.network === network && token.location === location)

  const urlsOf = (scope: TokenScope, token: string) => {
    const { rpcOrigin = '', wsOrigin = '' } = catalog.location(scope.location) ?? {}
    return { rpcUrl: `${rpcOrigin}/${token}`, wsUrl: `${wsOrigin}/${token}` }
  }

  /** A scope as the page shows it, its URLs with the given token. */
  const toPanel = (info: TokenInfo, token = `${MASK}${info.tail}`) => ({
    token: {
      tokenId: info.tokenId,
      masked: `${MASK}${info.tail}`,
      createdAtMs: info.createdAtMs,
      address: info.address ?? null,
    },
    ...urlsOf(info, token),
    streamingTargets: catalog.location(info.location)?.streamingTargets ?? [],
  })

  const toView = (access: Access) => ({
    accessId: access.accessId,
    kind: access.kind,
    state: stateOf(access, now()),
    product: catalog.product(access.product),
    networks: access.networks.map(id => ({ id, name: catalog.networkName(id) })),
    locations: access.locations.map(id => ({ id, name: catalog.location(id)?.name ?? id })),
    limits: access.limits,
    validFromMs: access.validFromMs,
    validUntilMs: access.validUntilMs,
    endedAtMs: access.endedAtMs,
    tokens: accessService
      .list(access.accessId)
      .map(({ network, location }) => ({ network, location })),
  })

  const SCOPE_ERRORS = ['noSuchAccess', 'notOffered'] as const

  return [
    route({
      method: 'GET',
      path: '/api/accesses',
      guard: 'session',
      summary: 'Passes and rentals of whoever is signed in',
      answers: { 200: { says: 'In the order of their ids', body: shapes.accesses } },
      handle: ({ session }) => ok({ accesses: accessService.listOf(session.subject).map(toView) }),
    }),
    route({
      method: 'GET',
      path: SCOPE,
      guard: 'session',
      summary: 'The token of a scope, masked',
      answers: { 200: { says: 'With or without a token', body: shapes.panel } },
      errors: SCOPE_ERRORS,
      handle: ({ session, params }) => {
        const info = tokenAt(ownScope(session, params))
        return ok(info === undefined ? { token: null } : toPanel(info))
      },
    }),
    route({
      method: 'POST',
      path: `${SCOPE}/token`,
      guard: 'session',
      summary: 'Generate the token of a scope that has none',
      answers: { 201: { says: 'It works from now on', body: shapes.newToken } },
      errors: [...SCOPE_ERRORS, 'accessEnded', 'accessUpcoming', 'tokenActive', 'sealingKey'],
      handle: async ({ session, params }) => {
        const made = await accessService.generate(ownScope(session, params))
        const secret = made.token.reveal()
        return { status: 201, body: { ...toPanel(made, secret), secret } }
      },
    }),
    route({
      method: 'POST',
      path: `${SCOPE}/token/regenerate`,
      guard: 'session',
      summary: 'Replace the token; the one before is dead when this answers',
      answers: { 200: { says: 'The restriction stays', body: shapes.newToken } },
      errors: [
        ...SCOPE_ERRORS,
        'accessEnded',
        'accessUpcoming',
        'noToken',
        'sealingKey',
        'notConfirmed',
      ],
      handle: async ({ session, params }) => {
        const made = await accessService.regenerate(ownScope(session, params))
        const secret = made.token.reveal()
        return ok({ ...toPanel(made, secret), secret })
      },
    }),
    route({
      method: 'DELETE',
      path: `${SCOPE}/token`,
      guard: 'session',
      summary: 'Revoke the token; it is dead when this answers',
      answers: { 204: { says: 'Its restriction went with it' } },
      errors: [...SCOPE_ERRORS, 'noToken', 'notConfirmed'],
      handle: async ({ session, params }) => {
        await accessService.revoke(ownScope(session, params))
        return { status: 204 }
      },
    }),
    route({
      method: 'POST',
      path: `${SCOPE}/token/reveal`,
      guard: 'session',
      summary: 'Show the token itself',
      answers: { 200: { says: 'The token and its URLs', body: shapes.revealed } },
      errors: [...SCOPE_ERRORS, 'noToken', 'sealingKey'],
      handle: async ({ session, params }) => {
        const scope = ownScope(session, params)
        const token = (await accessService.reveal(scope))?.reveal()
        if (token === undefined) throw new RpcError('noToken')
        return ok({ token, ...urlsOf(scope, token) })
      },
    }),
    route({
      method: 'PUT',
      path: `${SCOPE}/token/restriction`,
      guard: 'session',
      summary: 'Limit the token to one IPv4 address, or lift that',
      body: shapes.restriction,
      answers: { 200: { says: 'In effect', body: shapes.panel } },
      errors: [...SCOPE_ERRORS, 'noToken', 'notPublicIpv4', 'notConfirmed'],
      handle: async ({ session, params, body }) =>
        ok(toPanel(await accessService.restrict(ownScope(session, params), body.address))),
    }),
    route({
      method: 'GET',
      path: `${SCOPE}/usage`,
      guard: 'session',
      summary: 'Use of the token minute by minute, and attempts that were refused',
      answers: { 200: { says: 'The last 24 hours', body: shapes.tokenUsage } },
      errors: SCOPE_ERRORS,
      handle: ({ session, params }) => {
        const info = tokenAt(ownScope(session, params))
        return ok(info === undefined ? { minutes: [], refused: [] } : usage.ofToken(info.tokenId))
      },
    }),
    route({
      method: 'GET',
      path: '/api/accesses/:accessId/usage',
      guard: 'session',
      summary: 'Limits of an access against its use at this moment',
      answers: { 200: { says: 'Over all edges of the machine', body: shapes.accessUsage } },
      errors: ['noSuchAccess'],
      handle: ({ session, params }) => {
        const { accessId, limits } = ownAccess(session, params.accessId)
        return ok({ limits, ...usage.ofAccess(accessId) })
      },
    }),
    route({
      method: 'GET',
      path: '/api/accesses/:accessId/submissions',
      guard: 'session',
      summary: 'Recent submissions with their checks and outcomes',
      query: shapes.submissionsQuery,
      answers: { 200: { says: 'Newest first', body: shapes.submissions } },
      errors: ['noSuchAccess', 'wrongInput'],
      handle: ({ session, params, query }) => {
        const { accessId } = ownAccess(session, params.accessId)
        return ok({ submissions: submissions(accessId, query.limit) })
      },
    }),
  ]
}
