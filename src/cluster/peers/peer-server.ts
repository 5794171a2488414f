import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { TLSSocket } from 'node:tls'
import { createServerCloser } from '../../shared/http.js'
import type { Log } from '../../shared/log.js'
import type { Identity } from '../etcd/client.js'
import type { Options } from '../options.js'
import { commonNameOf } from './common-name.js'

/** Longest time for the handshake and for the headers of a request. */
const REQUEST_MS = 5_000
/** An unused connection is closed after this: longer than a client keeps it. */
const IDLE_MS = 60_000
const HEADER_BYTES_MAX = 8 * 1024
/** A parameter in a path: an id of ours, or a question in base64url. */
const PARAMETER = /^[A-Za-z0-9_-]{1,1024}$/

/** What other machines may read. */
export type PeerRoute = {
  /** `:name` matches one segment, an id. */
  readonly path: string
  /** Sent as JSON; undefined is answered as not found. Has no secret of any kind. */
  answer(params: Readonly<Record<string, string>>): unknown
}

/** A long answer, which is not JSON. */
export type PeerStream = {
  readonly path: string
  /** The answer, or the status of a refusal; `signal` aborts where the caller has gone. */
  open(
    params: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<
    | { readonly headers: Readonly<Record<string, string | number>>; readonly stream: Readable }
    | 404
    | 500
    | 503
  >
}

export type PeerServerParts = {
  readonly host: string
  readonly port: number
  /** Of a socket that this process inherited and that listens at this address. */
  readonly descriptor?: number | undefined
  readonly identity: Identity
  readonly options: Pick<Options, 'peerConnectionsMax' | 'peerMs'>
  /** Whether a certificate of this name may call. */
  readonly isMachine: (name: string) => boolean
  readonly routes: readonly PeerRoute[]
  readonly streams: readonly PeerStream[]
  readonly log: Log
}

/** Answers the other machines of the cluster. */
export type PeerServer = {
  readonly port: number
  /** Waits `peerMs` for answers: no caller waits longer. Ends long ones. */
  close(): Promise<void>
}

const matchPath = (pattern: string, path: string): Readonly<Record<string, string>> | undefined => {
  const [wanted, given] = [pattern.split('/'), path.split('/')]
  if (wanted.length !== given.length) return undefined
  const params: Record<string, string> = {}
  for (const [index, segment] of wanted.entries()) {
    const value = given[index] ?? ''
    if (segment.startsWith(':') && PARAMETER.test(value)) params[segment.slice(1)] = value
    else if (segment !== value) return undefined
  }
  return params
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'

const send = (response: ServerResponse, status: number, body: unknown = {}): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

/** Ends where the caller does not read for `IDLE_MS`. */
const sendStream = async (
  response: ServerResponse,
  { open }: PeerStream,
  params: Readonly<Record<string, string>>,
): Promise<void> => {
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  const opened = await open(params, gone.signal)
  if (typeof opened === 'number') return send(response, opened)
  response.setTimeout(IDLE_MS, () => response.destroy())
  response.writeHead(200, { 'content-type': 'application/octet-stream', ...opened.headers })
  // A caller that has gone needs no answer.
  await pipeline(opened.stream, response).catch(() => {})
}

/**
 * Closes the oldest connection whose handshake is not over once they are more than `handshakesMax`:
 * one without a certificate could keep other machines out until its time is over.
 */
const limitHandshakes = (server: Server, handshakesMax: number): void => {
  const waiting = new Map<string, Socket>()
  const keyOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`
  server.on('connection', (socket: Socket) => {
    const key = keyOf(socket)
    waiting.set(key, socket)
    socket.once('close', () => waiting.get(key) === socket && waiting.delete(key))
    const [oldest] = waiting.values()
    if (waiting.size > handshakesMax) oldest?.destroy()
  })
  server.on('secureConnection', (socket: TLSSocket) => waiting.delete(keyOf(socket)))
}

/** Opens the server. Only certificates of the cluster's authority get past the handshake. */
export const openPeerServer = async (parts: PeerServerParts): Promise<PeerServer> => {
  const { port, identity, isMachine, log, options, routes, streams } = parts

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method, url = '' } = request
    // For each request: a machine may be removed while its connection is open.
    const name = commonNameOf((request.socket as TLSSocket).getPeerCertificate())
    if (!isMachine(name)) {
      response.shouldKeepAlive = false
      return send(response, 403)
    }
    if (method !== 'GET' || hasBody(request)) {
      response.shouldKeepAlive = false
      return send(response, 405)
    }
    for (const route of routes) {
      const params = matchPath(route.path, url)
      if (params === undefined) continue
      const body = await route.answer(params)
      return body === undefined ? send(response, 404) : send(response, 200, body)
    }
    for (const stream of streams) {
      const params = matchPath(stream.path, url)
      if (params !== undefined) return sendStream(response, stream, params)
    }
    send(response, 404)
  }

  const server = createServer(
    {
      ...identity,
      requestCert: true,
      rejectUnauthorized: true,
      handshakeTimeout: REQUEST_MS,
      headersTimeout: REQUEST_MS,
      requestTimeout: REQUEST_MS,
      keepAliveTimeout: IDLE_MS,
      connectionsCheckingInterval: REQUEST_MS,
      maxHeaderSize: HEADER_BYTES_MAX,
    },
    (request, response) => {
      answer(request, response).catch((error: unknown) => {
        log.error({ err: error }, 'a call of another machine failed')
        if (!response.headersSent) send(response, 500)
      })
    },
  )
  const close = createServerCloser(server)
  server.maxConnections = options.peerConnectionsMax
  limitHandshakes(server, Math.ceil(options.peerConnectionsMax / 2))
  await listen(server, parts)
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    close: () => close(options.peerMs),
  }
}

const listen = (
  server: Server,
  { host, port, descriptor }: Pick<PeerServerParts, 'host' | 'port' | 'descriptor'>,
): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(descriptor === undefined ? { host, port } : { fd: descriptor }, () => {
      server.off('error', reject)
      resolve()
    })
  })
