import { once } from 'node:events'
import { createServer as createHttp1, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createHttp2 } from 'node:http2'
import { createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { ControlEndpoint, defaults as controlDefaults } from './control-endpoint.js'
import { type Fault, toBodyBytes } from './fault-injection.js'
import type { UpstreamAnswer, UpstreamRequest } from './upstream-request.js'

/** Options of an upstream's HTTP server. */
export const defaults = {
  ...controlDefaults,
  /** Loopback only: `/_control` asks for no credential. */
  host: '127.0.0.1',
  /** 0 picks a free port. */
  port: 0,
  /** The largest request, four transactions of version 1 in base64, is 22 KB. */
  bodyBytesMax: 1024 * 1024,
  /** A fault may contain a body of some ten megabytes. */
  controlBytesMax: 64 * 1024 * 1024,
  /**
   * Keep-alive timeout. About 65 s at real upstreams, so that a client that pings each 30 s stays
   * connected.
   */
  keepAliveMs: 65_000,
}
export type DevUpstreamOptions = typeof defaults

/** A running upstream. */
export type DevUpstream = {
  readonly url: string
  /**
   * Answers a request that came another way: recorded, and with the fault that is to be injected,
   * of which only the answer and the delay apply.
   */
  handle(request: UpstreamRequest): Promise<UpstreamAnswer>
  close(): Promise<void>
}

type Handler = (request: UpstreamRequest) => UpstreamAnswer

const CONTROL = '/_control'
const PING = '/ping'

/** `undefined` where the body exceeds the limit. Rejects when the client disconnects. */
const readBody = async (
  request: IncomingMessage,
  bytesMax: number,
): Promise<Buffer | undefined> => {
  const chunks: Buffer[] = []
  let byteCount = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    byteCount += chunk.length
    if (byteCount > bytesMax) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const TOO_LARGE: UpstreamAnswer = { status: 413, contentType: 'text/plain', body: 'too large' }

const headersOf = (answer: UpstreamAnswer, byteCount: number, fault: Fault) => ({
  // Real upstreams name their server, and set cookies for their load balancers.
  server: 'dev-upstream',
  'set-cookie': 'upstream-session=1; Path=/',
  ...answer.headers,
  'content-type': fault.contentType ?? answer.contentType,
  'content-length': String(byteCount),
  ...Object.fromEntries(
    Object.entries(fault.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
  ),
})

/** The answer that a fault gives instead of executing the request, if any. */
const injectedAnswer = ({ status, body }: Fault): UpstreamAnswer | undefined =>
  status === undefined && body === undefined
    ? undefined
    : { status: status ?? 200, contentType: 'application/json', body: toBodyBytes(body ?? '') }

/** An exception of the handler becomes a 500: it must not look like a broken network. */
const answerSafely = (request: UpstreamRequest, answer: Handler): UpstreamAnswer => {
  try {
    return answer(request)
  } catch (error) {
    return { status: 500, contentType: 'text/plain', body: `dev upstream failed: ${String(error)}` }
  }
}

const send = async (
  response: ServerResponse,
  answer: UpstreamAnswer,
  fault: Fault = {},
  signal?: AbortSignal,
): Promise<void> => {
  const body = Buffer.from(answer.body)
  response.writeHead(answer.status, headersOf(answer, body.length, fault))
  if (fault.dripMs === undefined) {
    response.end(body)
    return
  }
  response.flushHeaders()
  for (const byte of body) {
    await sleep(fault.dripMs, undefined, { signal })
    response.write(Uint8Array.of(byte))
  }
  response.end()
}

type Exchange = {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Its connection, with all requests that share it. */
  readonly reset: () => void
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal
}

const serve = async (
  { request, reset, response, signal }: Exchange,
  control: ControlEndpoint,
  answer: Handler,
  { bodyBytesMax, controlBytesMax }: DevUpstreamOptions,
): Promise<void> => {
  const { method = 'GET', url = '/', headers } = request
  const { pathname, searchParams: query } = new URL(url, 'http://upstream')
  if (pathname.endsWith(CONTROL)) {
    const body = await readBody(request, controlBytesMax)
    return send(response, body === undefined ? TOO_LARGE : control.answer(method, body.toString()))
  }
  const entry = control.addRequest(url, headers)
  // Pings arrive at any time: they must not use up the count of a fault.
  const fault = method === 'GET' && pathname === PING ? {} : control.consumeFault()
  if (fault.reset === 'before') return reset()
  const body = await readBody(request, bodyBytesMax)
  if (body === undefined) return send(response, TOO_LARGE)
  control.addBody(entry, body)
  const answered =
    injectedAnswer(fault) ?? answerSafely({ method, pathname, query, headers, body }, answer)
  if (fault.delayMs !== undefined) await sleep(fault.delayMs, undefined, { signal })
  if (fault.reset === 'after') return reset()
  return send(response, answered, fault, signal)
}

/** Serves a connection whose first bytes are of HTTP/2. */
const openHttp2 = (
  socket: Socket,
  idleMs: number,
  onRequest: (socket: Socket, request: IncomingMessage, response: ServerResponse) => void,
): void => {
  const server = createHttp2((request, response) => {
    // Node's API of HTTP/2 for code that was written for HTTP/1.1.
    const parts: unknown[] = [request, response]
    onRequest(socket, ...(parts as [IncomingMessage, ServerResponse]))
  })
  server.on('session', session => {
    session.on('error', () => {})
    session.setTimeout(idleMs, () => session.close())
  })
  server.on('sessionError', () => {})
  server.emit('connection', socket)
}

/**
 * An HTTP server, of HTTP/1.1 and of HTTP/2 without TLS, that passes whole requests to `answer`,
 * records them, and injects faults that `<url>/_control` asks for. A failure ends its own
 * connection only.
 */
export const openDevUpstream = async (
  options: Partial<DevUpstreamOptions>,
  answer: Handler,
): Promise<DevUpstream> => {
  const limits = { ...defaults, ...options }
  const { host, port, keepAliveMs } = limits
  const control = new ControlEndpoint(limits)
  const sockets = new Set<Socket>()
  const onRequest = (socket: Socket, request: IncomingMessage, response: ServerResponse): void => {
    const disconnected = new AbortController()
    response.once('close', () => disconnected.abort())
    const reset = (): void => void socket.resetAndDestroy()
    const exchange = { request, reset, response, signal: disconnected.signal }
    serve(exchange, control, answer, limits).catch(() => socket.destroy())
  }
  const http1 = createHttp1({ keepAliveTimeout: keepAliveMs }, (request, response) =>
    onRequest(request.socket, request, response),
  )
  const server = createServer({ noDelay: true }, socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => sockets.delete(socket))
    socket.once('data', first => {
      socket.pause()
      socket.unshift(first)
      // With prior knowledge (RFC 9113 §3.3): these begin with "PRI".
      const isHttp2 = first.toString('latin1', 0, 3) === 'PRI'
      if (isHttp2) openHttp2(socket, keepAliveMs, onRequest)
      else http1.emit('connection', socket)
      if (!isHttp2) socket.resume()
    })
  })
  server.listen(port, host)
  await once(server, 'listening')
  const address = server.address()
  const boundPort = typeof address === 'object' && address !== null ? address.port : port
  return {
    url: `http://${host}:${boundPort}`,
    async handle(request) {
      control.addBody(control.addRequest(request.pathname, request.headers), request.body)
      const fault = control.consumeFault()
      const answered = injectedAnswer(fault) ?? answerSafely(request, answer)
      if (fault.delayMs !== undefined) await sleep(fault.delayMs, undefined, { ref: false })
      return answered
    },
    async close() {
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}
