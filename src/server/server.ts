import type { TemplatedApp, us_listen_socket } from 'uWebSockets.js'
import type { RpcError } from '../shared/errors.js'
import type { Route } from '../shared/http.js'
import type { Log } from '../shared/log.js'
import { CLOSE, type CloseCode, type SocketRoute } from '../shared/socket.js'
import { createProxies } from './http/address.js'
import { UnreadReplyDetector } from './http/unread-reply-detector.js'
import { createFailures, type DescribeFailure } from './http/failures.js'
import { mountRoutes } from './http/mount.js'
import { defaults, type Options } from './options.js'
import { describePort } from './port.js'
import { ReplyScheduler } from './http/reply-scheduler.js'
import type { ServerContext } from './context.js'
import { mountSockets } from './websocket/mount.js'
import { BackpressureMonitor, type SocketStats } from './websocket/backpressure-monitor.js'

/**
 * Where a server listens; port 0 is any free one. Other processes may listen on the same port
 * (SO_REUSEPORT), and the kernel distributes connections among them: call `probePort` before where
 * that is not intended.
 */
export type Listener = {
  readonly host: string
  readonly port: number
}

export type ServerParts = {
  readonly routes: readonly Route[]
  readonly sockets?: readonly SocketRoute[]
  readonly listeners: readonly Listener[]
  readonly log: Log
  /** Monotonic milliseconds. */
  readonly now: () => number
  readonly options?: Partial<Options>
  /**
   * Writes the JSON of a failure that the server answers by itself; default
   * `{"error":{"message":…}}`.
   */
  readonly describeFailure?: DescribeFailure
}

/** Current values of a server, and counts since it opened. */
export type ServerStats = SocketStats & {
  /** Open HTTP connections, without those that became WebSockets. */
  readonly connections: number
  readonly requestsInFlight: number
  readonly bodyBytesInFlight: number
  /** Large replies that are not sent completely. */
  readonly repliesInFlight: number
  /** Bytes of copied replies, without those inside a source. */
  readonly replyBytesInFlight: number
  readonly requestsCount: number
  readonly abortedCount: number
}

/** An open server. */
export type Server = {
  /** Ports listened on, in the order of the listeners. */
  readonly ports: readonly number[]
  stats(): ServerStats
  /**
   * Sends a text frame to every WebSocket subscribed to `topic`. May close those whose queues are
   * too long.
   */
  publish(topic: string, frame: Uint8Array): void
  /** Closes every WebSocket. Later upgrades are answered with 503. */
  closeSockets(code: CloseCode, reason: string): void
  /**
   * Stops listening, lets requests in flight finish within `drainMs`, then closes every connection.
   */
  drain(): Promise<void>
  /** Closes every connection now. */
  close(): void
}

const describeMessage = (error: RpcError): string =>
  JSON.stringify({ error: { message: error.message } })

const createContext = (options: Options, parts: ServerParts): ServerContext => {
  const { log, now, describeFailure = describeMessage } = parts
  return {
    options,
    log,
    proxies: options.trustedProxies.length > 0 ? createProxies(options.trustedProxies) : undefined,
    failures: createFailures(describeFailure),
    scheduler: new ReplyScheduler(options, now),
    unreadReplies: new UnreadReplyDetector(options, now),
    connections: 0,
    requestsCount: 0,
    requestsInFlight: 0,
    bodyBytesInFlight: 0,
    replyBytesInFlight: 0,
    abortedCount: 0,
    isDraining: false,
  }
}

/** The part of uWebSockets.js that is used after it is loaded. */
type Library = Pick<
  typeof import('uWebSockets.js'),
  'us_listen_socket_close' | 'us_socket_local_port'
>

class OpenServer implements Server {
  readonly ports: number[] = []
  private readonly library: Library
  private readonly app: TemplatedApp
  private readonly context: ServerContext
  private readonly monitor: BackpressureMonitor
  private readonly now: () => number
  private readonly listening: us_listen_socket[] = []
  private isClosed = false

  constructor(parts: {
    readonly library: Library
    readonly app: TemplatedApp
    readonly context: ServerContext
    readonly monitor: BackpressureMonitor
    readonly now: () => number
  }) {
    this.library = parts.library
    this.app = parts.app
    this.context = parts.context
    this.monitor = parts.monitor
    this.now = parts.now
  }

  /** Throws one line where the port cannot be listened on. */
  listen({ host, port }: Listener): void {
    const { library, ports } = this
    const portCount = ports.length
    // Calls back before it returns, with `false` where it failed and no reason.
    this.app.listen(host, port, socket => {
      if (socket === false) return
      this.listening.push(socket)
      ports.push(library.us_socket_local_port(socket))
    })
    if (ports.length === portCount) throw new Error(describePort(host, port, undefined))
  }

  stats(): ServerStats {
    const { context, monitor } = this
    return {
      connections: context.connections,
      requestsInFlight: context.requestsInFlight,
      bodyBytesInFlight: context.bodyBytesInFlight,
      repliesInFlight: context.scheduler.replyCount,
      replyBytesInFlight: context.replyBytesInFlight,
      requestsCount: context.requestsCount,
      abortedCount: context.abortedCount,
      ...monitor.stats(),
    }
  }

  publish(topic: string, frame: Uint8Array): void {
    this.monitor.publish(topic, frame)
  }

  closeSockets(code: CloseCode, reason: string): void {
    this.monitor.closeAll(code, reason)
  }

  async drain(): Promise<void> {
    const { context, monitor } = this
    context.isDraining = true
    this.stopListening()
    monitor.closeAll(CLOSE.restart, 'restart')
    const isDone = (): boolean => this.isClosed || context.connections + monitor.count === 0
    await waitUntilIdle(context, this.now, isDone)
    this.close()
  }

  close(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.stopListening()
    // Aborts requests in flight, which closes the sources of their replies.
    this.app.close()
    this.context.scheduler.close()
    this.monitor.close()
  }

  private stopListening(): void {
    for (const socket of this.listening.splice(0)) this.library.us_listen_socket_close(socket)
  }
}

/**
 * Opens a server. Set `UWS_ENVIRONMENT` in the environment before the first call, which loads
 * uWebSockets.js. Rejects with one line where a port cannot be listened on.
 */
export const openServer = async (parts: ServerParts): Promise<Server> => {
  const { routes, sockets = [], listeners, log, now } = parts
  const options: Options = { ...defaults, ...parts.options }
  const { default: uWS } = await import('uWebSockets.js')
  // Undocumented: removes the header `uWebSockets: 20` from replies.
  if ('_cfg' in uWS && typeof uWS._cfg === 'function') uWS._cfg('silent')

  const context = createContext(options, parts)
  const app = uWS.App()
  app.filter((_res, change) => {
    context.connections += Number(change)
  })
  const monitor = new BackpressureMonitor(app, { options, log, now })
  const compression = monitor.isCompressed ? uWS.SHARED_COMPRESSOR : uWS.DISABLED
  // Before the routes, which answer all other requests at the same paths.
  mountSockets(app, sockets, { server: context, monitor, compression })
  mountRoutes(app, routes, context)

  const server = new OpenServer({ library: uWS, app, context, monitor, now })
  try {
    for (const listener of listeners) server.listen(listener)
  } catch (error) {
    server.close()
    throw error
  }
  return server
}

const DRAIN_CHECK_MS = 10

/**
 * Resolves when nothing is in flight and no request has come for `drainQuietMs`, or after
 * `drainMs`. An active client learns from its next reply that the connection closes; an idle one
 * has no request that the close could interrupt.
 */
const waitUntilIdle = (
  context: ServerContext,
  now: () => number,
  isDone: () => boolean,
): Promise<void> =>
  new Promise(resolve => {
    const { drainMs, drainQuietMs } = context.options
    const deadlineMs = now() + drainMs
    let lastCount = context.requestsCount
    let quietSinceMs = now()
    const timer = setInterval(() => {
      const nowMs = now()
      if (context.requestsCount !== lastCount || context.requestsInFlight > 0) quietSinceMs = nowMs
      lastCount = context.requestsCount
      if (!isDone() && nowMs < deadlineMs && nowMs - quietSinceMs < drainQuietMs) return
      clearInterval(timer)
      resolve()
    }, DRAIN_CHECK_MS)
  })
