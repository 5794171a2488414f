import type { Context } from 'hono'
import type { HttpBindings } from '@hono/node-server'
import { stateOf } from '../../access/accesses/access-manager.js'
import type { MayChange } from '../../access/journal/checked-journal.js'
import { findApiKey, type ApiKeyManager } from '../../access/keys/key-manager.js'
import { demandRole, roleOf, type AccessPerson } from '../../access/members/members.js'
import type { AccessService } from '../../access/service.js'
import type { AccessRole } from '../../access/store/member-shape.js'
import type { Access } from '../../access/store/tables.js'
import { includesRole, type AdminTokens } from '../../access/tokens/admin-tokens.js'
import { RpcError } from '../../shared/errors.js'
import type { Log } from '../../shared/log.js'
import { API_KEY_PREFIX } from '../../shared/secret.js'
import { isUnproxiedRequest, unproxiedHosts } from '../../shared/unproxied-request.js'
import type { Session } from '../auth/session.js'
import type { Cookies } from './cookies.js'
import { checkRate } from './failure.js'
import type { RateLimits } from './rate-limits.js'
import { hasAccess, type Route } from './route.js'

type Env = { readonly Bindings: HttpBindings }

export type GuardParts = {
  readonly options: {
    readonly host: string
    readonly adminHosts: readonly string[]
    readonly recentSignInMs: number
    readonly operators: readonly string[]
  }
  /** Changes of each person. */
  readonly changes: RateLimits
  /** Requests and changes with each API key. */
  readonly keyRequests: RateLimits
  readonly keyChanges: RateLimits
  /** Failed attempts to authenticate, of each address. */
  readonly failures: RateLimits
  readonly publicUrl: URL
  readonly cookies: Cookies
  /** Absent: every admin route is refused. */
  readonly adminTokens: Pick<AdminTokens, 'holderOf'> | undefined
  readonly apiKeys: Pick<ApiKeyManager, 'find' | 'noteUse'>
  /** An access as of the newest commit. */
  readonly findAccess: (accessId: string) => Access | undefined
  /** Records that an operator sees an access, from the address of a TCP peer. */
  readonly noteView: (subject: string, accessId: string, peer: string) => void
  /** Whether this machine can prove that its accesses are current: its lease has not ended. */
  readonly isCurrent: () => boolean
  readonly log: Log
  /** Address of the client of a TCP peer, which may be a proxy. */
  clientOf(peer: string, forwardedFor: string): string
  /** The session with this id, used from the address of a client. */
  session(id: string, address: string): Promise<Session | undefined>
  readonly now: () => number
}

/** Who passed the guard of a route, and what of. */
export type Caller = {
  readonly session?: Session
  readonly admin?: string
  /** Id of an API key. */
  readonly apiKey?: string
  readonly access?: Access
  /** Throws if the right of the caller was taken away since; absent of one that cannot be. */
  readonly recheck?: () => void
  /** The same for the document that a change replaces. */
  readonly mayChange?: MayChange
}

/**
 * The page sends it with every change. Forms and links of another site cannot, and CORS forbids it
 * to scripts.
 */
const CSRF_HEADER = 'x-slotline'

/** The words of an `Authorization` header that is to be an API key; undefined of any other. */
const keyWordsOf = (header: string | undefined): readonly string[] | undefined => {
  const words = header?.split(' ').filter(word => word !== '') ?? []
  const [scheme = '', first = ''] = words
  return scheme.toLowerCase() === 'bearer' && first.startsWith(API_KEY_PREFIX) ? words : undefined
}

export const peerOf = (c: Context<Env>): string => c.env.incoming.socket.remoteAddress ?? ''

export const createClientOf =
  (parts: Pick<GuardParts, 'clientOf'>) =>
  (c: Context<Env>): string =>
    parts.clientOf(peerOf(c), c.req.header('x-forwarded-for') ?? '')

/** Checks that a request may use the admin API, which is for this machine only. */
const createAdminCheck = ({ adminTokens, failures, log, options }: GuardParts) => {
  const hosts = unproxiedHosts(options.host, options.adminHosts)
  return ({ path, needsRole }: Route, c: Context<Env>): string => {
    const header = (name: string) => c.req.header(name)
    if (!isUnproxiedRequest(header, hosts)) throw new RpcError('notFound')
    const [, given = ''] = /^bearer +(\S+)$/i.exec(header('authorization') ?? '') ?? []
    const holder = adminTokens?.holderOf(given)
    if (holder !== undefined) {
      const { name, role } = holder
      if (includesRole(role, needsRole)) return name
      log.warn({ path, admin: name, role }, 'an admin token may not do this')
      throw new RpcError('adminRole', { role, needed: needsRole })
    }
    // The right token is never refused: others could lock the operator out.
    checkRate(failures.take(peerOf(c)))
    log.warn({ path }, 'admin token refused')
    throw new RpcError('adminToken')
  }
}

const checkActive = (access: Access, nowMs: number): void => {
  const state = stateOf(access, nowMs)
  if (state === 'ended') throw new RpcError('accessEnded')
  if (state === 'upcoming') throw new RpcError('accessUpcoming')
}

/** Checks that a request may call a route with the API key that it has. Cookies do not count. */
const createKeyCheck = (parts: GuardParts) => {
  const { apiKeys, failures, findAccess, isCurrent, keyChanges, keyRequests, log, now } = parts
  const clientOf = createClientOf(parts)
  /** The access of a key that has not ended. */
  const demand = (text: string) => {
    if (!isCurrent()) throw new RpcError('leaseExpired')
    const found = apiKeys.find(text)
    const access = found && findAccess(found.accessId)
    if (found === undefined || access === undefined) throw new RpcError('apiKey')
    return { found, access }
  }
  return (route: Route, c: Context<Env>, words: readonly string[]): Caller => {
    const { apiKeyScope, isRateLimited, method, path } = route
    // Several headers are one with commas.
    const [, given = '', ...more] = words
    const text = more.length === 0 ? given : ''
    let demanded: ReturnType<typeof demand>
    try {
      demanded = demand(text)
    } catch (error) {
      if (!(error instanceof RpcError) || error.name !== 'apiKey') throw error
      // The right key is never refused: others could lock its holder out.
      checkRate(failures.take(clientOf(c)))
      log.warn({ path }, 'API key refused')
      throw error
    }
    const { found, access } = demanded
    const { accessId, key } = found
    const { keyId, scopes } = key
    checkRate((method === 'GET' ? keyRequests : keyChanges).take(keyId))
    if (method === 'GET' && isRateLimited) checkRate(keyChanges.take(keyId))
    if (apiKeyScope === undefined) throw new RpcError('apiKeyRoute')
    if (!scopes.includes(apiKeyScope)) throw new RpcError('apiKeyScope', { needed: apiKeyScope })
    if (c.req.param('accessId') !== accessId) throw new RpcError('noSuchAccess')
    checkActive(access, now())
    void apiKeys.noteUse(found)
    return {
      apiKey: keyId,
      access,
      recheck: () => checkActive(demand(text).access, now()),
      mayChange: document => {
        if (findApiKey(document, keyId, now()) === undefined) throw new RpcError('apiKey')
        checkActive(document, now())
      },
    }
  }
}

/** What decides which accesses a person may use. */
type OwnAccessParts = Pick<GuardParts, 'findAccess' | 'isCurrent'>

/**
 * Finds an access for its owner or a member with a role; that of others is one that does not exist.
 * What a member may do can be taken away on another machine, so that this one must be current.
 */
const createOwnAccess =
  ({ findAccess, isCurrent }: OwnAccessParts) =>
  (person: AccessPerson, accessId = '', needed: AccessRole = 'owner'): Access => {
    const access = findAccess(accessId)
    const role = access && roleOf(access, person)
    if (access === undefined || role === undefined) throw new RpcError('noSuchAccess')
    if (role !== 'owner' && !isCurrent()) throw new RpcError('leaseExpired')
    demandRole(role, needed)
    return access
  }

/**
 * Finds the access in the path of a route for a person who may call it; any access if the route is
 * for operators. What an operator sees is recorded before it is read.
 */
export const createPathAccess = (parts: OwnAccessParts & Pick<GuardParts, 'noteView'>) => {
  const { findAccess, noteView } = parts
  const ownAccess = createOwnAccess(parts)
  return (
    { accessRole, needsOperator }: Pick<Route, 'accessRole' | 'needsOperator'>,
    person: Pick<Session, 'subject' | 'verifiedEmail'>,
    accessId: string | undefined,
    peer: string,
  ): Access => {
    if (!needsOperator) return ownAccess(person, accessId, accessRole)
    const access = findAccess(accessId ?? '')
    if (access === undefined) throw new RpcError('noSuchAccess')
    noteView(person.subject, access.accessId, peer)
    return access
  }
}

/** An access that a person may use. */
export type OwnAccess = { readonly access: Access; readonly role: AccessRole }

/** Lists the accesses that `createOwnAccess` finds for a person, and their roles. */
export const createOwnAccesses =
  (
    accessService: Pick<AccessService, 'listFor'>,
    isCurrent: OwnAccessParts['isCurrent'],
  ): ((person: AccessPerson) => readonly OwnAccess[]) =>
  person =>
    accessService.listFor(person).flatMap(access => {
      const role = roleOf(access, person)
      return role === undefined || (role !== 'owner' && !isCurrent()) ? [] : [{ access, role }]
    })

/** Checks the guard of a route; returns who has passed it. */
export const createGuard = (parts: GuardParts) => {
  const { cookies, publicUrl, changes, session, now } = parts
  const { recentSignInMs, operators } = parts.options
  const clientOf = createClientOf(parts)
  const checkAdmin = createAdminCheck(parts)
  const checkKey = createKeyCheck(parts)
  const pathAccess = createPathAccess(parts)
  return async (route: Route, c: Context<Env>): Promise<Caller> => {
    const { guard, method, isRateLimited, needsRecentSignIn, needsOperator } = route
    const header = (name: string) => c.req.header(name)
    if (guard === 'open') return {}
    if (guard === 'admin') return { admin: checkAdmin(route, c) }
    const keyWords = keyWordsOf(header('authorization'))
    if (keyWords !== undefined) return checkKey(route, c, keyWords)
    if (method !== 'GET' && (header(CSRF_HEADER) !== '1' || header('origin') !== publicUrl.origin))
      throw new RpcError('crossOrigin')
    const found = await session(cookies.read(header('cookie'), 'session') ?? '', clientOf(c))
    if (found === undefined) throw new RpcError('signedOut')
    if (needsOperator && !operators.includes(found.subject)) throw new RpcError('notOperator')
    if (isRateLimited) checkRate(changes.take(found.subject))
    if (needsRecentSignIn && now() - found.authenticatedAtMs >= recentSignInMs)
      throw new RpcError('signInTooOld', { minutes: Math.ceil(recentSignInMs / 60_000) })
    if (!hasAccess(route)) return { session: found }
    const demand = () => pathAccess(route, found, c.req.param('accessId'), peerOf(c))
    return {
      session: found,
      access: demand(),
      recheck: demand,
      mayChange: document => demandRole(roleOf(document, found), route.accessRole ?? 'owner'),
    }
  }
}
