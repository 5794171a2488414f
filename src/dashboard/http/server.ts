import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { RpcError } from '../../shared/errors.js'
import type { Log } from '../../shared/log.js'
import type { Secret } from '../../shared/secret.js'
import { createBearerCheck } from './bearer.js'
import type { Cookies } from './cookies.js'
import { toFailure } from './failure.js'
import { createMatcher } from './match-route.js'
import type { PageFile } from './page-files.js'
import { readJson } from './read-json.js'
import type { Answer, Route } from './route.js'
import type { Session } from '../auth/session.js'

/** A running dashboard. */
export type Dashboard = {
  readonly port: number
  /**
   * Takes no more connections, lets requests in flight finish for `drainMs`, and closes what is
   * left.
   */
  close(): Promise<void>
}

export type ServerOptions = {
  readonly host: string
  readonly port: number
  readonly connectionsMax: number
  readonly requestsInFlightMax: number
  readonly headerBytesMax: number
  readonly bodyBytesMax: number
  readonly requestMs: number
  readonly idleMs: number
  readonly drainMs: number
}

export type ServerParts = {
  readonly options: ServerOptions
  readonly publicUrl: URL
  readonly routes: readonly Route[]
  readonly files: ReadonlyMap<string, PageFile>
  readonly headers: Readonly<Record<string, string>>
  readonly cookies: Cookies
  /** Absent: every admin route is refused. */
  readonly adminToken: Secret | undefined
  readonly log: Log
  session(id: string): Promise<Session | undefined>
}

/**
 * Sent by the page with each change. A form or a link of another site cannot, and its script may
 * not.
 */
const GUARD_HEADER = 'x-slotline'
/** How often node looks for requests that take too long. */
const CHECK_MS = 1_000
const NO_STORE = { 'Cache-Control': 'no-store' } as const

const isForwarded = ({ headers }: IncomingMessage): boolean =>
  headers['x-forwarded-for'] !== undefined || headers['forwarded'] !== undefined

const notAllowed = (allowed: readonly string[]): Answer => {
  const failure = toFailure(new RpcError('methodNotAllowed'))
  return { ...failure, headers: { Allow: [...new Set(allowed)].sort().join(', ') } }
}

const isRead = ({ method }: IncomingMessage): boolean => method === 'GET' || method === 'HEAD'

const isUnread = ({ complete, headers }: IncomingMessage): boolean =>
  !complete &&
  (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0)

/** HTTP of the dashboard: page, sign-in, API and admin API on one port. */
export const openDashboard = async (parts: ServerParts): Promise<Dashboard> => {
  const { options, publicUrl, files, cookies, log } = parts
  const match = createMatcher(parts.routes)
  const isAdmin = createBearerCheck(parts.adminToken)
  let inFlight = 0

  const send = (response: ServerResponse, answer: Answer): void => {
    const body = answer.body === undefined ? undefined : JSON.stringify(answer.body)
    const own = { ...parts.headers, ...NO_STORE, ...answer.headers }
    for (const [name, value] of Object.entries(own)) response.setHeader(name, value)
    if (body !== undefined) response.setHeader('Content-Type', 'application/json')
    response.statusCode = answer.status
    response.end(body)
  }

  const sendFile = async (
    request: IncomingMessage,
    response: ServerResponse,
    file: PageFile,
  ): Promise<void> => {
    const takesGzip = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''))
    const bytes = takesGzip ? await file.gzipped() : file.bytes
    response.writeHead(200, {
      ...parts.headers,
      'Content-Type': file.type,
      'Content-Length': bytes.length,
      'Cache-Control': file.isForever ? 'public, max-age=31536000, immutable' : 'no-cache',
      Vary: 'Accept-Encoding',
      ...(takesGzip ? { 'Content-Encoding': 'gzip' } : {}),
    })
    response.end(request.method === 'HEAD' ? undefined : bytes)
  }

  /** Refuses what another site may have made a browser send. */
  const checkOrigin = ({ headers, method }: IncomingMessage): void => {
    if (method === 'GET') return
    if (headers[GUARD_HEADER] !== '1' || headers.origin !== publicUrl.origin)
      throw new RpcError('crossOrigin')
  }

  /** Who calls, where the route wants to know. Throws where that is not enough. */
  const admit = async (route: Route, request: IncomingMessage): Promise<Session | undefined> => {
    if (route.guard === 'open') return undefined
    if (route.guard === 'admin') {
      // It came through a proxy, from who knows where: the admin API is for this machine.
      if (isForwarded(request)) throw new RpcError('notFound')
      if (isAdmin(request.headers.authorization)) return undefined
      log.warn({ path: route.path }, 'admin token refused')
      throw new RpcError('adminToken')
    }
    checkOrigin(request)
    const id = cookies.read(request.headers.cookie, 'session')
    const session = id === undefined ? undefined : await parts.session(id)
    if (session === undefined) throw new RpcError('signedOut')
    return session
  }

  const answer = async (request: IncomingMessage, path: string, search: string) => {
    const found = match(request.method ?? '', path)
    if ('allowed' in found) {
      if (found.allowed.length > 0) return notAllowed(found.allowed)
      throw new RpcError(path === '/' && isRead(request) ? 'pageMissing' : 'notFound')
    }
    const { route, params } = found
    const session = await admit(route, request)
    return route.run({
      params,
      search,
      body: route.method === 'GET' ? undefined : await readJson(request, options.bodyBytesMax),
      session,
      cookie: kind => cookies.read(request.headers.cookie, kind),
    })
  }

  /**
   * People type `localhost` where the sandbox says 127.0.0.1. Cookies of one are not sent to the
   * other, so a sign-in begun there could never end: they are led over. Behind a proxy the name is
   * the proxy's business.
   */
  const leadOver = ({
    headers: { host },
    method,
    url = '/',
  }: IncomingMessage): string | undefined =>
    publicUrl.protocol === 'http:' &&
    method === 'GET' &&
    host === `localhost:${publicUrl.port}` &&
    publicUrl.host !== host
      ? `${publicUrl.origin}${url.startsWith('/') ? url : '/'}`
      : undefined

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const elsewhere = leadOver(request)
    if (elsewhere !== undefined)
      return send(response, { status: 307, headers: { Location: elsewhere } })
    const [path = '', query] = (request.url ?? '').split(/\?(.*)/s, 2)
    const file = isRead(request) ? files.get(path) : undefined
    if (file !== undefined) return sendFile(request, response, file)
    try {
      if (inFlight >= options.requestsInFlightMax) throw new RpcError('unavailable')
      inFlight++
      try {
        send(response, await answer(request, path, query === undefined ? '' : `?${query}`))
      } finally {
        inFlight--
      }
    } catch (error) {
      const failure = toFailure(error)
      const isExpected = error instanceof RpcError && error.row.status !== undefined
      // Somebody who leaves in the middle is no failure of ours.
      if (!isExpected && !request.socket.destroyed)
        log.error({ err: error }, 'a dashboard request failed')
      // What was not read of a body must not be taken for the next request.
      const close = isUnread(request) ? { Connection: 'close' } : {}
      send(response, { ...failure, headers: { ...failure.headers, ...close } })
    }
  }

  const server = createServer(
    {
      maxHeaderSize: options.headerBytesMax,
      headersTimeout: options.requestMs,
      requestTimeout: options.requestMs,
      keepAliveTimeout: options.idleMs,
      connectionsCheckingInterval: CHECK_MS,
    },
    (request, response) => {
      serve(request, response).catch((error: unknown) => {
        log.error({ err: error }, 'a dashboard answer failed')
        response.destroy()
      })
    },
  )
  server.maxConnections = options.connectionsMax
  server.setTimeout(options.idleMs)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, options.host, resolve)
  })
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : options.port,
    close: () =>
      new Promise(resolve => {
        const timer = setTimeout(() => server.closeAllConnections(), options.drainMs)
        server.close(() => {
          clearTimeout(timer)
          resolve()
        })
        server.closeIdleConnections()
      }),
  }
}
