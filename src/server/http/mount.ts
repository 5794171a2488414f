import type { App, RequestHandler } from '../compiled/library.js'
import type { Reply, Route } from '../../shared/http.js'
import type { ServerContext } from '../context.js'
import { PREFLIGHT } from './cors.js'
import { Exchange } from './exchange.js'
import { patternsOf } from './patterns.js'
import { scanHeaders } from './scan-headers.js'

/**
 * Matches every path. Without a handler there, uWebSockets closes the connection with a page of
 * its own.
 */
const ANY_PATH = '/*'

const createHandler = (server: ServerContext, route: Route, method?: string): RequestHandler => {
  const { failures } = server
  const { bodyBytesMax, contentType = 'application/json' } = route
  const mounted = {
    route,
    bodyTooLarge: failures.bodyTooLarge(bodyBytesMax),
    contentTypeRefused: failures.contentType(contentType),
  }
  return (res, req) =>
    new Exchange(server, mounted, {
      res,
      req,
      method: method ?? req.method,
    }).begin()
}

/** Mounts the routes, preflights, 405 for other methods and 404 for other paths. */
export const mountRoutes = (app: App, given: readonly Route[], server: ServerContext): void => {
  const routes: Route[] = []
  for (const route of given)
    for (const pattern of patternsOf(route.pattern)) routes.push({ ...route, pattern })
  for (const route of routes) {
    if (route.method === 'POST') {
      app.on('POST', route.pattern, createHandler(server, route, 'POST'))
    } else {
      app.on('GET', route.pattern, createHandler(server, route, 'GET'))
      app.on('HEAD', route.pattern, createHandler(server, route, 'HEAD'))
    }
  }
  // A refused request's body is skipped up to the longest accepted one; then the connection stays
  // open.
  const bodyBytesMax = Math.max(0, ...routes.map(route => route.bodyBytesMax))
  const refuse = (pattern: string, reply: Reply, route: Partial<Route> = {}): RequestHandler => {
    const { refusalHeaders } = route
    return createHandler(server, {
      method: 'GET',
      pattern,
      bodyBytesMax,
      open: () => reply,
      handle: () => reply,
      ...(refusalHeaders !== undefined && { refusalHeaders }),
    })
  }

  const preflight = refuse(ANY_PATH, PREFLIGHT)
  const badPreflight = refuse(ANY_PATH, server.failures.badRequest)
  app.on('OPTIONS', ANY_PATH, (res, req) => {
    if (scanHeaders(req).isWellFormed) preflight(res, req)
    else badPreflight(res, req)
  })
  for (const [pattern, allow] of allowedMethods(routes)) {
    const route = routes.find(one => one.pattern === pattern)
    app.on('*', pattern, refuse(pattern, server.failures.methodNotAllowed(allow), route))
  }
  if (!routes.some(route => route.pattern === ANY_PATH)) {
    app.on('*', ANY_PATH, refuse(ANY_PATH, server.failures.notFound))
  }
}

/** Values of `Allow` by pattern. */
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
