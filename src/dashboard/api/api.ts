import type { Administration } from '../../access/service.js'
import type { TokenInfo } from '../../access/tokens/credentials.js'
import { stateOf } from '../../access/accesses/accesses.js'
import type { Access, Place } from '../../access/store/tables.js'
import { RpcError } from '../../shared/errors.js'
import type { Catalog } from './catalog.js'
import { route, type Answer, type Route } from '../http/route.js'
import * as shapes from './shapes.js'
import type { Session } from '../auth/session.js'
import type { Usage } from './usage.js'

/** What the API is made of. */
export type ApiParts = {
  readonly administration: Administration
  readonly catalog: Catalog
  readonly usage: Usage
  readonly now: () => number
  /** Newest first. */
  submissions(accessId: string, limit: number): readonly shapes.SubmissionView[]
}

const PLACE = '/api/accesses/:accessId/networks/:network/locations/:location'
/** Beside the characters that are shown: enough to see that something is hidden. */
const MASK = 'slt_••••••••'

const ok = (body: unknown): Answer => ({ status: 200, body })

/** Routes of accesses, their tokens and their use. Whoever calls sees their own accesses only. */
export const createApi = ({
  administration,
  catalog,
  usage,
  now,
  submissions,
}: ApiParts): readonly Route[] => {
  /** Somebody else's access is answered as one that does not exist: its id tells nothing. */
  const ownAccess = (session: Session, accessId: string): Access => {
    const access = administration.find(accessId)
    if (access === undefined || access.subject !== session.subject)
      throw new RpcError('noSuchAccess')
    return access
  }

  const ownPlace = (session: Session, place: Place): Place => {
    const access = ownAccess(session, place.accessId)
    if (!access.networks.includes(place.network))
      throw new RpcError('notOffered', { what: 'network' })
    if (!access.locations.includes(place.location))
      throw new RpcError('notOffered', { what: 'location' })
    return place
  }

  const tokenAt = ({ accessId, network, location }: Place): TokenInfo | undefined =>
    administration
      .list(accessId)
      .find(token => token.network === network && token.location === location)

  const urlsOf = (place: Place, token: string) => {
    const { rpcOrigin = '', wsOrigin = '' } = catalog.location(place.location) ?? {}
    return { rpcUrl: `${rpcOrigin}/${token}`, wsUrl: `${wsOrigin}/${token}` }
  }

  /** A place as the page shows it, its URLs with the given token. */
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
    tokens: administration
      .list(access.accessId)
      .map(({ network, location }) => ({ network, location })),
  })

  const PLACE_ERRORS = ['noSuchAccess', 'notOffered'] as const

  return [
    route({
      method: 'GET',
      path: '/api/accesses',
      guard: 'session',
      summary: 'Passes and rentals of whoever is signed in',
      answers: { 200: { says: 'In the order of their ids', body: shapes.accesses } },
      handle: ({ session }) => ok({ accesses: administration.listOf(session.subject).map(toView) }),
    }),
    route({
      method: 'GET',
      path: PLACE,
      guard: 'session',
      summary: 'The token of a place, masked',
      answers: { 200: { says: 'With or without a token', body: shapes.panel } },
      errors: PLACE_ERRORS,
      handle: ({ session, params }) => {
        const info = tokenAt(ownPlace(session, params))
        return ok(info === undefined ? { token: null } : toPanel(info))
      },
    }),
    route({
      method: 'POST',
      path: `${PLACE}/token`,
      guard: 'session',
      summary: 'Generate the token of a place that has none',
      answers: { 201: { says: 'It works from now on', body: shapes.newToken } },
      errors: [...PLACE_ERRORS, 'accessEnded', 'accessUpcoming', 'tokenActive', 'sealingKey'],
      handle: async ({ session, params }) => {
        const made = await administration.generate(ownPlace(session, params))
        const secret = made.token.reveal()
        return { status: 201, body: { ...toPanel(made, secret), secret } }
      },
    }),
    route({
      method: 'POST',
      path: `${PLACE}/token/regenerate`,
      guard: 'session',
      summary: 'Replace the token; the one before is dead when this answers',
      answers: { 200: { says: 'The restriction stays', body: shapes.newToken } },
      errors: [
        ...PLACE_ERRORS,
        'accessEnded',
        'accessUpcoming',
        'noToken',
        'sealingKey',
        'notConfirmed',
      ],
      handle: async ({ session, params }) => {
        const made = await administration.regenerate(ownPlace(session, params))
        const secret = made.token.reveal()
        return ok({ ...toPanel(made, secret), secret })
      },
    }),
    route({
      method: 'DELETE',
      path: `${PLACE}/token`,
      guard: 'session',
      summary: 'Revoke the token; it is dead when this answers',
      answers: { 204: { says: 'Its restriction went with it' } },
      errors: [...PLACE_ERRORS, 'noToken', 'notConfirmed'],
      handle: async ({ session, params }) => {
        await administration.revoke(ownPlace(session, params))
        return { status: 204 }
      },
    }),
    route({
      method: 'POST',
      path: `${PLACE}/token/reveal`,
      guard: 'session',
      summary: 'Show the token itself',
      answers: { 200: { says: 'The token and its URLs', body: shapes.revealed } },
      errors: [...PLACE_ERRORS, 'noToken', 'sealingKey'],
      handle: async ({ session, params }) => {
        const place = ownPlace(session, params)
        const token = (await administration.reveal(place))?.reveal()
        if (token === undefined) throw new RpcError('noToken')
        return ok({ token, ...urlsOf(place, token) })
      },
    }),
    route({
      method: 'PUT',
      path: `${PLACE}/token/restriction`,
      guard: 'session',
      summary: 'Limit the token to one IPv4 address, or lift that',
      body: shapes.restriction,
      answers: { 200: { says: 'In effect', body: shapes.panel } },
      errors: [...PLACE_ERRORS, 'noToken', 'notPublicIpv4', 'notConfirmed'],
      handle: async ({ session, params, body }) =>
        ok(toPanel(await administration.restrict(ownPlace(session, params), body.address))),
    }),
    route({
      method: 'GET',
      path: `${PLACE}/usage`,
      guard: 'session',
      summary: 'Use of the token minute by minute, and attempts that were refused',
      answers: { 200: { says: 'The last 24 hours', body: shapes.tokenUsage } },
      errors: PLACE_ERRORS,
      handle: ({ session, params }) => {
        const info = tokenAt(ownPlace(session, params))
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
