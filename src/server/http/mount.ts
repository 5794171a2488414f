import type { HttpRequest, HttpResponse, TemplatedApp } from 'uWebSockets.js'
import type { Reply, Route } from '../../shared/http.js'
import { Exchange } from './exchange.js'
import { writePreflight } from './head.js'
import type { Shared } from '../context.js'

type Handler = (res: HttpResponse, req: HttpRequest) => void

/**
 * Any path, for what no route answers. Without it uWebSockets.js closes the connection with a page
 * of its own.
 */
const ANYWHERE = '/*'

/**
 * Gives every request of an app its handler: routes, preflights, 405 for other methods, 404
 * elsewhere.
 */
export const mountRoutes = (app: TemplatedApp, routes: readonly Route[], shared: Shared): void => {
  const handle = (route: Route, method?: string): Handler => {
    const { failures } = shared
    const { bodyBytesMax, contentType = 'application/json' } = route
    const mounted = {
      route,
      bodyTooLarge: failures.bodyTooLarge(bodyBytesMax),
      contentTypeRefused: failures.contentType(contentType),
    }
    return (res, req) =>
      new Exchange(shared, mounted, {
        res,
        req,
        method: method ?? req.getCaseSensitiveMethod(),
      }).begin()
  }

  for (const route of routes) {
    if (route.method === 'POST') {
      app.post(route.pattern, handle(route, 'POST'))
    } else {
      app.get(route.pattern, handle(route, 'GET'))
      app.head(route.pattern, handle(route, 'HEAD'))
    }
  }
  // The body of a refused request is skipped up to what an accepted one may be, and its connection
  // goes on.
  const bodyBytesMax = Math.max(0, ...routes.map(route => route.bodyBytesMax))
  const refuse = (pattern: string, reply: Reply, like: Partial<Route> = {}): Handler => {
    const { refusalHeaders } = like
    const answer = { open: () => reply, handle: () => reply }
    const head = refusalHeaders === undefined ? {} : { refusalHeaders }
    return handle({ method: 'GET', pattern, bodyBytesMax, ...answer, ...head })
  }

  const badPreflight = refuse(ANYWHERE, shared.failures.badRequest)
  app.options(ANYWHERE, (res, req) => {
    if (shared.scan.scan(req)) writePreflight(res)
    else badPreflight(res, req)
  })
  for (const [pattern, allow] of allowedMethods(routes)) {
    // What stands on every answer of a path stands on this one, too.
    const like = routes.find(route => route.pattern === pattern)
    app.any(pattern, refuse(pattern, shared.failures.methodNotAllowed(allow), like))
  }
  if (!routes.some(route => route.pattern === ANYWHERE)) {
    app.any(ANYWHERE, refuse(ANYWHERE, shared.failures.notFound))
  }
}

/** What `Allow` says, by pattern. */
const allowedMethods = (routes: readonly Route[]): ReadonlyMap<string, string> => {
  const methods = new Map<string, string[]>()
  for (const { pattern, method } of routes) {
    const known = methods.get(pattern) ?? []
    known.push(...(method === 'GET' ? ['GET', 'HEAD'] : [method]))
    methods.set(pattern, known)
  }
  return new Map(
    [...methods].map(([pattern, known]) => [pattern, [...known, 'OPTIONS'].join(', ')]),
  )
}
