import type { RpcError } from '../shared/errors.js'
import type { Route } from '../shared/http.js'
import type { Log } from '../shared/log.js'
import { CLOSE, type SocketRoute } from '../shared/socket.js'
import { createProxies } from './http/address.js'
import { BodyPool } from './http/body-pool.js'
import { ByteBudget } from '../shared/byte-budget.js'
import { createFailures, type DescribeFailure } from './http/failures.js'
import { linesAfterType, toClosingReply } from './http/head.js'
import { mountRoutes } from './http/mount.js'
import { defaults, type Options } from './options.js'
import { describePort } from './port.js'
import { ReplyScheduler } from './http/reply-scheduler.js'
import type { ServerContext } from './context.js'
import type { AppOptions, Handle } from './compiled/functions.js'
import { createApp, type App } from './compiled/library.js'
import type { ListenerTls } from './tls/certificate.js'
import { ListenerCertificates, type CertificateState } from './tls/listener-certificates.js'
import { mountSockets } from './websocket/mount.js'
import { SocketRegistry, type SocketStats } from './websocket/socket-registry.js'

/**
 * Where a server listens; port 0 is any free one. Other processes may listen on the same port
 * (SO_REUSEPORT), and the kernel distributes connections among them: call `probePort` before where
 * that is not intended.
 */
export type Listener = {
  readonly host: string
  readonly port: number
  readonly tls?: ListenerTls | undefined
  /**
   * A socket that this process inherited and that listens there: what waits in its queue outlives
   * this server.
   */
  readonly descriptor?: number | undefined
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
   * Answers requests before JavaScript. `mount` is given the number of the
   * app, and the value of Content-Type for JSON-RPC with the header lines after it; `close` is
   * called before the server drains or closes.
   */
  readonly direct?: { mount(app: number, typeLines: string): void; close(): void } | undefined
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
  /** Large replies that were ended because their clients stopped reading. */
  readonly abandonedCount: number
}

/** An open server. */
export type Server = {
  /** Ports listened on, in the order of the listeners. */
  readonly ports: readonly number[]
  stats(): ServerStats
  /** The certificates of the listeners that speak TLS. */
  certificates(): readonly CertificateState[]
  /**
   * Sends a text frame to every WebSocket subscribed to `topic`. May close those whose queues are
   * too long.
   */
  publish(topic: string, frame: Uint8Array): void
  /**
   * Stops listening, closes WebSockets one after another, each after its replies, lets requests in
   * flight finish within `drainMs`, then closes every connection. Where it is replaced, idle
   * connections are kept for as long as requests in flight: the next request on each is answered
   * with `Connection: close`.
   */
  drain(mode?: { readonly isReplaced: boolean }): Promise<void>
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
    connections: 0,
    requestsCount: 0,
    requestsInFlight: 0,
    bodies: new ByteBudget(options.bodiesInFlightBytesMax),
    bodyPool: new BodyPool(options),
    replies: new ByteBudget(options.repliesInFlightBytesMax),
    abortedCount: 0,
    isDraining: false,
  }
}

class OpenServer implements Server {
  readonly ports: number[] = []
  private readonly app: App
  private readonly context: ServerContext
  private readonly registry: SocketRegistry
  private readonly now: () => number
  private readonly direct: ServerParts['direct']
  private readonly listening: Handle[] = []
  private readonly tls: ListenerCertificates[] = []
  private isClosed = false

  constructor(parts: {
    readonly app: App
    readonly context: ServerContext
    readonly registry: SocketRegistry
    readonly now: () => number
    readonly direct: ServerParts['direct']
  }) {
    this.app = parts.app
    this.context = parts.context
    this.registry = parts.registry
    this.now = parts.now
    this.direct = parts.direct
  }

  /** Throws one line where the port cannot be listened on, or a certificate cannot be used. */
  listen({ host, port, tls, descriptor }: Listener): void {
    const { app } = this
    const socket = app.listen(host, port, descriptor)
    if (socket === undefined) throw new Error(describePort({ host, port }, undefined))
    this.listening.push(socket)
    if (tls !== undefined) this.useTls(socket, tls)
    this.ports.push(app.localPort(socket))
  }

  stats(): ServerStats {
    const { context, registry } = this
    return {
      connections: context.connections,
      requestsInFlight: context.requestsInFlight,
      bodyBytesInFlight: context.bodies.bytes,
      repliesInFlight: context.scheduler.replyCount,
      replyBytesInFlight: context.replies.bytes,
      requestsCount: context.requestsCount,
      abortedCount: context.abortedCount,
      abandonedCount: context.scheduler.abandonedCount,
      ...registry.stats(),
    }
  }

  certificates(): readonly CertificateState[] {
    return this.tls.flatMap(listener => listener.states)
  }

  publish(topic: string, frame: Uint8Array): void {
    this.registry.publish(topic, frame)
  }

  async drain({ isReplaced } = { isReplaced: false }): Promise<void> {
    const { context, registry } = this
    const { drainMs, drainQuietMs } = context.options
    const endMs = this.now() + drainMs
    context.isDraining = true
    this.direct?.close()
    this.stopListening()
    await registry.closeGradually(CLOSE.restart, 'restart')
    // One that was accepted before its successor listened may be upgraded yet.
    registry.isClosing = !isReplaced
    const closeLate = (): void => registry.closeAllOnceIdle(CLOSE.restart, 'restart')
    const late = setInterval(closeLate, LATE_SOCKETS_MS)
    const isDone = (): boolean => this.isClosed || context.connections + registry.count === 0
    const quietMs = isReplaced ? Infinity : drainQuietMs
    const isBusy = (): boolean => context.requestsInFlight > 0 || registry.isBusy
    await waitUntilIdle(context, { now: this.now, endMs, quietMs, isBusy, isDone })
    clearInterval(late)
    registry.closeAll(CLOSE.restart, 'restart')
    this.close()
  }

  close(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.direct?.close()
    this.stopListening()
    // Aborts requests in flight, which closes the sources of their replies.
    this.app.close()
    this.context.scheduler.close()
    this.context.bodyPool.close()
    this.registry.close()
  }

  private useTls(listener: Handle, tls: ListenerTls): void {
    const { app, context } = this
    const { log, options, failures } = context
    const plainReply = toClosingReply(failures.tlsRequired)
    const certificates = new ListenerCertificates(tls, {
      log,
      checkMs: options.certificateCheckSeconds * 1_000,
      set: (index, pem) => app.setCertificate(listener, index, pem, plainReply),
    })
    this.tls.push(certificates)
  }

  private stopListening(): void {
    for (const certificates of this.tls.splice(0)) certificates.close()
    for (const socket of this.listening.splice(0)) this.app.closeListener(socket)
  }
}

/** Content type of every reply of JSON-RPC. */
const JSON_RPC_TYPE = 'application/json; charset=utf-8'

/**
 * The timers of uWebSockets have steps of 4 s: added, so that a connection stays open for at least
 * the time that `Keep-Alive` states.
 */
const TIMER_STEP_SECONDS = 4

const appOptions = ({ failures, options, proxies }: ServerContext): AppOptions => ({
  connectionsMax: options.connectionsMax,
  connectionsPerAddressMax: options.connectionsPerAddressMax,
  socketQueueBytesMax: options.socketQueueBytesMax,
  socketsQueuedBytesMax: options.socketsQueuedBytesMax,
  socketStallMs: options.socketStallMs,
  socketCloseMs: options.socketCloseMs,
  isProxy: address => proxies?.isTrustedPeer(new Uint8Array(address)) === true,
  idleSeconds: options.idleSeconds + TIMER_STEP_SECONDS,
  keepAlive: `timeout=${options.idleSeconds}`,
  lingerBytesMax: options.lingerBytesMax,
  badRequest: toClosingReply(failures.badRequest),
  headTooLarge: toClosingReply(failures.headTooLarge),
  urlTooLong: toClosingReply(failures.urlTooLong),
  versionUnsupported: toClosingReply(failures.versionUnsupported),
})

/**
 * Opens a server. Throws one line where a port cannot be listened on, or the addon has no server.
 */
export const openServer = (parts: ServerParts): Server => {
  const { routes, sockets = [], listeners, log, now, direct } = parts
  const options: Options = { ...defaults, ...parts.options }
  const context = createContext(options, parts)
  const app = createApp(appOptions(context))
  app.filter(change => {
    context.connections += change
  })
  const registry = new SocketRegistry({ app, options, log, now, scheduler: context.scheduler })
  // Before the routes, which answer all other requests at the same paths.
  mountSockets(app, sockets, { server: context, registry })
  mountRoutes(app, routes, context)

  direct?.mount(app.index, linesAfterType(JSON_RPC_TYPE))

  const server = new OpenServer({ app, context, registry, now, direct })
  try {
    for (const listener of listeners) server.listen(listener)
  } catch (error) {
    server.close()
    throw error
  }
  return server
}

const DRAIN_CHECK_MS = 10
/** How often WebSockets are closed that were opened, or waited for a reply, while it drains. */
const LATE_SOCKETS_MS = 100

type IdleWait = {
  readonly now: () => number
  readonly endMs: number
  readonly quietMs: number
  readonly isBusy: () => boolean
  readonly isDone: () => boolean
}

/**
 * Resolves when nothing is in flight and no request came for `quietMs`, or at `endMs`. An active
 * client learns from its next reply that the connection closes; an idle one has no request that the
 * close could interrupt.
 */
const waitUntilIdle = (
  context: ServerContext,
  { now, endMs, quietMs, isBusy, isDone }: IdleWait,
): Promise<void> =>
  new Promise(resolve => {
    let lastCount = context.requestsCount
    let quietSinceMs = now()
    const timer = setInterval(() => {
      const nowMs = now()
      if (context.requestsCount !== lastCount || isBusy()) quietSinceMs = nowMs
      lastCount = context.requestsCount
      if (!isDone() && nowMs < endMs && nowMs - quietSinceMs < quietMs) return
      clearInterval(timer)
      resolve()
    }, DRAIN_CHECK_MS)
  })
