import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { ControlEndpoint, defaults as controlDefaults } from './control-endpoint.js'
import { type Misbehaviour, toBodyBytes } from './fault-injection.js'

/** Options of an upstream's HTTP server. */
export const defaults = {
  ...controlDefaults,
  /** Loopback only: it takes orders from anybody. */
  host: '127.0.0.1',
  /** 0 takes a free one. */
  port: 0,
  /** The largest request, four transactions of version 1 in base64, is 22 KB. */
  bodyBytesMax: 1024 * 1024,
  /** An order may hold an answer of some ten megabytes. */
  orderBytesMax: 64 * 1024 * 1024,
  /**
   * Real ones keep an idle connection for about 65 s; a client that pings each 30 s stays
   * connected.
   */
  keepAliveMs: 65_000,
}
export type DevUpstreamOptions = typeof defaults

/** A whole request, as the upstream's own code sees it. */
export type UpstreamRequest = {
  readonly method: string
  readonly pathname: string
  readonly query: URLSearchParams
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Buffer
}

export type UpstreamAnswer = {
  readonly status: number
  readonly contentType: string
  readonly body: string | Buffer
  readonly headers?: Readonly<Record<string, string>>
}

/** A running upstream. */
export type DevUpstream = {
  readonly url: string
  close(): Promise<void>
}

const CONTROL = '/_control'
const PING = '/ping'

/** `undefined` where there is more than allowed. Rejects where the client leaves. */
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

/** The answer with what is to be wrong about it. */
const spoil = (given: UpstreamAnswer, wrong: Misbehaviour) => {
  const body = Buffer.from(given.body)
  return {
    status: given.status,
    body,
    headers: {
      // Real ones name themselves, and set cookies for their balancers.
      server: 'dev-upstream',
      'set-cookie': 'upstream-session=1; Path=/',
      ...given.headers,
      'content-type': wrong.contentType ?? given.contentType,
      'content-length': String(body.length),
      ...Object.fromEntries(
        Object.entries(wrong.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
      ),
    },
  }
}

/** What the request is answered with instead of being carried out, if anything. */
const canned = ({ status, body }: Misbehaviour): UpstreamAnswer | undefined =>
  status === undefined && body === undefined
    ? undefined
    : { status: status ?? 200, contentType: 'application/json', body: toBodyBytes(body ?? '') }

/** A bug in the upstream's own code must not look like a broken network. */
const answerSafely = (
  request: UpstreamRequest,
  answer: (request: UpstreamRequest) => UpstreamAnswer,
): UpstreamAnswer => {
  try {
    return answer(request)
  } catch (error) {
    return { status: 500, contentType: 'text/plain', body: `dev upstream failed: ${String(error)}` }
  }
}

const send = async (
  response: ServerResponse,
  given: UpstreamAnswer,
  wrong: Misbehaviour = {},
  signal?: AbortSignal,
): Promise<void> => {
  const { status, headers, body } = spoil(given, wrong)
  response.writeHead(status, headers)
  if (wrong.dripMs === undefined) {
    response.end(body)
    return
  }
  response.flushHeaders()
  for (const byte of body) {
    await sleep(wrong.dripMs, undefined, { signal })
    response.write(Uint8Array.of(byte))
  }
  response.end()
}

/**
 * An HTTP server that hands whole requests to `answer`, remembers all of them and misbehaves on
 * demand: `<url>/_control`. What fails ends its own connection only.
 */
export const openDevUpstream = async (
  options: Partial<DevUpstreamOptions>,
  answer: (request: UpstreamRequest) => UpstreamAnswer,
): Promise<DevUpstream> => {
  const { host, port, bodyBytesMax, orderBytesMax, keepAliveMs, ...bounds } = {
    ...defaults,
    ...options,
  }
  const control = new ControlEndpoint(bounds)

  const serve = async (
    request: IncomingMessage,
    response: ServerResponse,
    signal: AbortSignal,
  ): Promise<void> => {
    const { method = 'GET', url = '/', headers, socket } = request
    const { pathname, searchParams: query } = new URL(url, 'http://upstream')
    if (pathname.endsWith(CONTROL)) {
      const order = await readBody(request, orderBytesMax)
      return send(
        response,
        order === undefined ? TOO_LARGE : control.answer(method, order.toString()),
      )
    }
    const entry = control.note(url, headers)
    // A ping comes when its sender wants: it must not use up what a test has ordered.
    const wrong = method === 'GET' && pathname === PING ? {} : control.take()
    if (wrong.reset === 'before') return void socket.resetAndDestroy()
    const body = await readBody(request, bodyBytesMax)
    if (body === undefined) return send(response, TOO_LARGE)
    control.noteBody(entry, body)
    const given = canned(wrong) ?? answerSafely({ method, pathname, query, headers, body }, answer)
    if (wrong.delayMs !== undefined) await sleep(wrong.delayMs, undefined, { signal })
    if (wrong.reset === 'after') return void socket.resetAndDestroy()
    return send(response, given, wrong, signal)
  }

  const server = createServer({ keepAliveTimeout: keepAliveMs }, (request, response) => {
    const left = new AbortController()
    response.once('close', () => left.abort())
    // Whoever asked has left in the middle.
    serve(request, response, left.signal).catch(() => request.socket.destroy())
  })
  server.listen(port, host)
  await once(server, 'listening')
  const address = server.address()
  const boundPort = typeof address === 'object' && address !== null ? address.port : port
  return {
    url: `http://${host}:${boundPort}`,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
