import type { us_listen_socket } from 'uWebSockets.js'
import type { RpcError } from '../shared/errors.js'
import type { Route } from '../shared/http.js'
import type { Log } from '../shared/log.js'
import { CLOSE, type CloseCode, type SocketRoute } from '../shared/socket.js'
import { createProxies } from './http/address.js'
import { Backlog } from './http/unread-reply-detector.js'
import { createFailures, type DescribeFailure } from './http/failures.js'
import { HeaderScan } from './http/header-scan.js'
import { mountRoutes } from './http/mount.js'
import { defaults, type Options } from './options.js'
import { describePort } from './port.js'
import { Pump } from './http/reply-scheduler.js'
import type { Shared } from './context.js'
import { mountSockets } from './websocket/mount.js'
import { SocketKeeper, type SocketStats } from './websocket/backpressure-monitor.js'

/**
 * Where a server listens; port 0 is any free one. Other processes may listen there too
 * (SO_REUSEPORT), and the kernel deals out connections: where that is not meant, `probePort` comes
 * first.
 */
export type Listener = {
  readonly host: string
  readonly port: number
}

/** What one server is made of. */
export type ServerParts = {
  readonly routes: readonly Route[]
  readonly sockets?: readonly SocketRoute[]
  readonly listeners: readonly Listener[]
  readonly log: Log
  /** Monotonic milliseconds. */
  readonly now: () => number
  readonly options?: Partial<Options>
  /**
   * JSON of a failure that the server answers by itself. `{"error":{"message":…}}` where absent.
   */
  readonly describeFailure?: DescribeFailure
}

/** What a server holds at this moment, and two counts since it opened. */
export type ServerStats = SocketStats & {
  /** Without those that became WebSockets. */
  readonly connections: number
  readonly requestsInFlight: number
  readonly bodyBytesInFlight: number
  /** Large replies on their way. */
  readonly repliesInFlight: number
  /** Bytes of replies that had to be copied, without those that a source holds. */
  readonly replyBytesInFlight: number
  readonly requestsCount: number
  readonly abortedCount: number
}

/** An open server. */
export type Server = {
  /** Ports really listened on, in the order of the listeners. */
  readonly ports: readonly number[]
  stats(): ServerStats
  /**
   * Sends one text frame to every WebSocket that is subscribed to `topic`. May close those that are
   * too far behind.
   */
  publish(topic: string, frame: Uint8Array): void
  /** Closes every WebSocket; from here on an upgrade is answered with 503. */
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

/**
 * Opens a server. Put `UWS_ENVIRONMENT` into the environment before the first one: uWebSockets.js
 * is loaded here, and not sooner. Rejects with one line where a listener cannot be had.
 */
export const openServer = async (parts: ServerParts): Promise<Server> => {
  const { routes, listeners, log, now } = parts
  const options: Options = { ...defaults, ...parts.options }
  const { default: uWS } = await import('uWebSockets.js')
  // Undocumented: takes `uWebSockets: 20` out of every reply.
  if ('_cfg' in uWS && typeof uWS._cfg === 'function') uWS._cfg('silent')

  const shared: Shared = {
    options,
    log,
    scan: new HeaderScan(),
    proxies: options.trustedProxies.length > 0 ? createProxies(options.trustedProxies) : undefined,
    failures: createFailures(parts.describeFailure ?? describeMessage),
    pump: new Pump(options, now),
    backlog: new Backlog(options, now),
    connections: 0,
    requestsCount: 0,
    requestsInFlight: 0,
    bodyBytesInFlight: 0,
    replyBytesInFlight: 0,
    abortedCount: 0,
    isDraining: false,
  }
  const app = uWS.App()
  app.filter((_res, change) => {
    shared.connections += Number(change)
  })
  const keeper = new SocketKeeper(app, { options, log, now })
  // Before the routes: they answer every other request at the same paths.
  const compression = keeper.isCompressed ? uWS.SHARED_COMPRESSOR : uWS.DISABLED
  mountSockets(app, parts.sockets ?? [], { shared, keeper, compression })
  mountRoutes(app, routes, shared)

  const sockets: us_listen_socket[] = []
  const stopListening = (): void => {
    for (const socket of sockets.splice(0)) uWS.us_listen_socket_close(socket)
  }
  let isClosed = false
  const close = (): void => {
    if (isClosed) return
    isClosed = true
    stopListening()
    // Aborts what is in flight: replies on their way close their sources.
    app.close()
    shared.pump.close()
    keeper.close()
  }

  const ports: number[] = []
  for (const { host, port } of listeners) {
    const before = ports.length
    // Calls back before it returns, with no more than `false` where it failed.
    app.listen(host, port, socket => {
      if (socket === false) return
      sockets.push(socket)
      ports.push(uWS.us_socket_local_port(socket))
    })
    if (ports.length > before) continue
    close()
    throw new Error(describePort(host, port, undefined))
  }

  return {
    ports,
    stats: () => ({
      connections: shared.connections,
      requestsInFlight: shared.requestsInFlight,
      bodyBytesInFlight: shared.bodyBytesInFlight,
      repliesInFlight: shared.pump.streamCount,
      replyBytesInFlight: shared.replyBytesInFlight,
      requestsCount: shared.requestsCount,
      abortedCount: shared.abortedCount,
      ...keeper.stats(),
    }),
    publish: (topic, frame) => keeper.publish(topic, frame),
    closeSockets: (code, reason) => keeper.closeAll(code, reason),
    close,
    drain: async () => {
      shared.isDraining = true
      stopListening()
      keeper.closeAll(CLOSE.restart, 'restart')
      await untilQuiet(shared, now, () => isClosed || shared.connections + keeper.count === 0)
      close()
    },
  }
}

/** How often a draining server looks whether it is done. */
const DRAIN_LOOK_MS = 10

/**
 * Resolves when nothing is in flight and no request has come for a while, or at the deadline. A
 * busy client learns from its next reply that the connection closes; an idle one has none in flight
 * that the close could cut.
 */
const untilQuiet = (shared: Shared, now: () => number, isDone: () => boolean): Promise<void> =>
  new Promise(resolve => {
    const { drainMs, drainQuietMs } = shared.options
    const deadlineMs = now() + drainMs
    let lastCount = shared.requestsCount
    let quietSinceMs = now()
    const timer = setInterval(() => {
      const nowMs = now()
      if (shared.requestsCount !== lastCount || shared.requestsInFlight > 0) quietSinceMs = nowMs
      lastCount = shared.requestsCount
      if (!isDone() && nowMs < deadlineMs && nowMs - quietSinceMs < drainQuietMs) return
      clearInterval(timer)
      resolve()
    }, DRAIN_LOOK_MS)
  })
