import type { HttpRequest, HttpResponse, us_socket_context_t } from 'uWebSockets.js'
import type { Reply, Request } from '../../shared/http.js'
import type { SocketRoute } from '../../shared/socket.js'
import { Exchange, type Mounted } from '../http/exchange.js'
import { ServerSocket, type SocketData } from './server-socket.js'
import type { Shared } from '../context.js'
import type { SocketKeeper } from './backpressure-monitor.js'

const KEY = 'sec-websocket-key'
const EXTENSIONS = 'sec-websocket-extensions'
const VERSION = '13'
const UPGRADE = /(^|,)\s*upgrade\s*(,|$)/i

/** A pattern at which WebSockets are opened, with what its handshakes need. */
export type MountedSocket = {
  readonly mounted: Mounted
  readonly route: SocketRoute
  readonly shared: Shared
  readonly keeper: SocketKeeper
}

/**
 * What is wrong with the head of a handshake: what it asks for, and that no body hides another
 * request.
 */
export const refuseHandshake = (
  request: Request,
  { shared, keeper }: Pick<MountedSocket, 'shared' | 'keeper'>,
): Reply | undefined => {
  const { failures, scan } = shared
  // Read for later: what is not read now is forgotten.
  request.header(KEY)
  request.header(EXTENSIONS)
  if (shared.isDraining || keeper.isClosing) return failures.unavailable
  const isAsked =
    request.header('upgrade').toLowerCase() === 'websocket' &&
    UPGRADE.test(request.header('connection'))
  if (!isAsked || scan.isChunked || (scan.contentLength ?? 0) > 0) return failures.badRequest
  return request.header('sec-websocket-version') === VERSION ? undefined : failures.upgradeVersion
}

/** One request to become a WebSocket: answered as any other where it is refused. */
export class Handshake extends Exchange {
  private readonly socket: MountedSocket
  private readonly native: us_socket_context_t

  constructor(
    socket: MountedSocket,
    from: { res: HttpResponse; req: HttpRequest; context: us_socket_context_t },
  ) {
    super(socket.shared, socket.mounted, { ...from, method: 'GET' })
    this.socket = socket
    this.native = from.context
  }

  protected override run(): void {
    const { keeper, route, shared } = this.socket
    const handle = new ServerSocket(keeper, route, this.context)
    const data: SocketData = { handle }
    this.finish()
    shared.connections--
    try {
      // At once: this build may crash where it comes later. It opens the socket before it returns.
      // No protocol of those that are offered: there is none that we speak.
      this.res.upgrade(data, this.header(KEY), '', this.header(EXTENSIONS), this.native)
    } catch (error) {
      shared.log.error({ err: error, requestId: this.id }, 'a WebSocket could not be opened')
      handle.onClose(0)
    }
  }
}
