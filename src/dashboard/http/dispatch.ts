import type { IncomingMessage } from 'node:http'
import { RpcError } from '../../shared/errors.js'
import type { Log } from '../../shared/log.js'
import type { Secret } from '../../shared/secret.js'
import type { Session } from '../auth/session.js'
import { createBearerCheck } from './bearer.js'
import type { Cookies } from './cookies.js'
import { toFailure } from './failure.js'
import { createMatcher } from './match-route.js'
import { readJson } from './read-json.js'
import type { Answer, Route } from './route.js'

export type DispatchParts = {
  readonly routes: readonly Route[]
  readonly publicUrl: URL
  readonly bodyBytesMax: number
  readonly cookies: Cookies
  /** Absent: every admin route is refused. */
  readonly adminToken: Secret | undefined
  readonly log: Log
  session(id: string): Promise<Session | undefined>
}

/** Answers an API request, or throws the failure to answer. */
export type Dispatch = (request: IncomingMessage, path: string, search: string) => Promise<Answer>

/**
 * The page sends it with every change. Forms and links of another site cannot, and CORS forbids it
 * to scripts.
 */
const CSRF_HEADER = 'x-slotline'

/** Whether a request only reads. */
export const isRead = ({ method }: IncomingMessage): boolean =>
  method === 'GET' || method === 'HEAD'

const isForwarded = ({ headers }: IncomingMessage): boolean =>
  headers['x-forwarded-for'] !== undefined || headers['forwarded'] !== undefined

const methodNotAllowed = (allowed: readonly string[]): Answer => ({
  ...toFailure(new RpcError('methodNotAllowed')),
  headers: { Allow: [...new Set(allowed)].sort().join(', ') },
})

/** Refuses requests that another site may have made a browser send. */
const checkOrigin = ({ headers, method }: IncomingMessage, publicUrl: URL): void => {
  if (method === 'GET') return
  if (headers[CSRF_HEADER] !== '1' || headers.origin !== publicUrl.origin)
    throw new RpcError('crossOrigin')
}

/** Finds the route of a request, checks its guard, and runs it. */
export const createDispatch = (parts: DispatchParts): Dispatch => {
  const { publicUrl, cookies, log } = parts
  const match = createMatcher(parts.routes)
  const isAdmin = createBearerCheck(parts.adminToken)

  const checkAdmin = (route: Route, request: IncomingMessage): void => {
    // The admin API is for this machine only, and a proxy hides where a request comes from.
    if (isForwarded(request)) throw new RpcError('notFound')
    if (isAdmin(request.headers.authorization)) return
    log.warn({ path: route.path }, 'admin token refused')
    throw new RpcError('adminToken')
  }

  const requireSession = async (request: IncomingMessage): Promise<Session> => {
    checkOrigin(request, publicUrl)
    const id = cookies.read(request.headers.cookie, 'session')
    const session = id === undefined ? undefined : await parts.session(id)
    if (session === undefined) throw new RpcError('signedOut')
    return session
  }

  return async (request, path, search) => {
    const found = match(request.method ?? '', path)
    if ('allowed' in found) {
      if (found.allowed.length > 0) return methodNotAllowed(found.allowed)
      throw new RpcError(path === '/' && isRead(request) ? 'pageMissing' : 'notFound')
    }
    const { route, params } = found
    if (route.guard === 'admin') checkAdmin(route, request)
    const session = route.guard === 'session' ? await requireSession(request) : undefined
    return route.run({
      params,
      search,
      body: route.method === 'GET' ? undefined : await readJson(request, parts.bodyBytesMax),
      session,
      cookie: kind => cookies.read(request.headers.cookie, kind),
    })
  }
}
