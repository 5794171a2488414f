import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { RpcError } from '../../shared/errors.js'
import { createDispatch, isRead, type DispatchParts } from './dispatch.js'
import { toFailure } from './failure.js'
import type { PageFile } from './page-files.js'
import type { Answer } from './route.js'
import { sendAnswer, sendFile } from './send.js'

/** A running dashboard. */
export type Dashboard = {
  readonly port: number
  /** Accepts no more connections, waits `drainMs` for requests in flight, and closes the rest. */
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

export type ServerParts = Omit<DispatchParts, 'bodyBytesMax'> & {
  readonly options: ServerOptions
  readonly files: ReadonlyMap<string, PageFile>
  /** Headers of every answer. */
  readonly headers: Readonly<Record<string, string>>
}

/** How often Node looks for requests over their time limit. */
const CHECK_MS = 1_000

const hasUnreadBody = ({ complete, headers }: IncomingMessage): boolean =>
  !complete &&
  (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0)

/**
 * Where to redirect a request for `localhost` if the public URL has an address. Cookies of one are
 * not sent to the other, so a sign-in that starts at `localhost` could never end. Behind a proxy
 * the host name is left to the proxy.
 */
const redirectOf = (
  { headers: { host }, method, url = '/' }: IncomingMessage,
  publicUrl: URL,
): string | undefined =>
  publicUrl.protocol === 'http:' &&
  method === 'GET' &&
  host === `localhost:${publicUrl.port}` &&
  publicUrl.host !== host
    ? `${publicUrl.origin}${url.startsWith('/') ? url : '/'}`
    : undefined

const createHandler = (parts: ServerParts) => {
  const { options, publicUrl, files, headers, log } = parts
  const dispatch = createDispatch({ ...parts, bodyBytesMax: options.bodyBytesMax })
  let inFlight = 0

  const answer = async (request: IncomingMessage, path: string, search: string) => {
    if (inFlight >= options.requestsInFlightMax) throw new RpcError('unavailable')
    inFlight++
    try {
      return await dispatch(request, path, search)
    } finally {
      inFlight--
    }
  }

  const fail = (request: IncomingMessage, error: unknown): Answer => {
    const failure = toFailure(error)
    const isExpected = error instanceof RpcError && error.row.status !== undefined
    // A client that disconnects is no failure of the service.
    if (!isExpected && !request.socket.destroyed)
      log.error({ err: error }, 'a dashboard request failed')
    // The rest of an unread body must not be parsed as the next request.
    const close = hasUnreadBody(request) ? { Connection: 'close' } : {}
    return { ...failure, headers: { ...failure.headers, ...close } }
  }

  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const redirect = redirectOf(request, publicUrl)
    if (redirect !== undefined)
      return sendAnswer(response, headers, { status: 307, headers: { Location: redirect } })
    const [path = '', query] = (request.url ?? '').split(/\?(.*)/s, 2)
    const file = isRead(request) ? files.get(path) : undefined
    if (file !== undefined) return sendFile(request, response, headers, file)
    try {
      const search = query === undefined ? '' : `?${query}`
      sendAnswer(response, headers, await answer(request, path, search))
    } catch (error) {
      sendAnswer(response, headers, fail(request, error))
    }
  }
}

const listen = (server: Server, { host, port }: ServerOptions): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : port)
    })
  })

const close = (server: Server, drainMs: number): Promise<void> =>
  new Promise(resolve => {
    const timer = setTimeout(() => server.closeAllConnections(), drainMs)
    server.close(() => {
      clearTimeout(timer)
      resolve()
    })
    server.closeIdleConnections()
  })

/** Serves the page, the sign-in, the API and the admin API on one port. */
export const openDashboard = async (parts: ServerParts): Promise<Dashboard> => {
  const { options, log } = parts
  const handle = createHandler(parts)
  const server = createServer(
    {
      maxHeaderSize: options.headerBytesMax,
      headersTimeout: options.requestMs,
      requestTimeout: options.requestMs,
      keepAliveTimeout: options.idleMs,
      connectionsCheckingInterval: CHECK_MS,
    },
    (request, response) => {
      handle(request, response).catch((error: unknown) => {
        log.error({ err: error }, 'a dashboard answer failed')
        response.destroy()
      })
    },
  )
  server.maxConnections = options.connectionsMax
  server.setTimeout(options.idleMs)
  const port = await listen(server, options)
  return { port, close: () => close(server, options.drainMs) }
}
