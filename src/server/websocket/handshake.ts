import type { HttpRequest } from '../compiled/request.js'
import type { HttpResponse, SocketContext } from '../compiled/response.js'
import type { Reply, Request } from '../../shared/http.js'
import type { SocketRoute } from '../../shared/socket.js'
import type { ServerContext } from '../context.js'
import { Exchange, type MountedRoute } from '../http/exchange.js'
import { ServerSocket } from './server-socket.js'
import type { SocketRegistry } from './socket-registry.js'

const KEY = 'sec-websocket-key'
const EXTENSIONS = 'sec-websocket-extensions'
const PROTOCOLS = 'sec-websocket-protocol'
/** The first of a list of tokens (RFC 9110, section 5.6.2). */
const FIRST_TOKEN = /^\s*([!#$%&'*+\-.^_`|~\w]+)\s*(?:,|$)/
const VERSION = '13'
const UPGRADE = /(^|,)\s*upgrade\s*(,|$)/i

/** A WebSocket route with what its handshakes need. */
export type MountedSocket = {
  readonly mounted: MountedRoute
  readonly route: SocketRoute
  readonly server: ServerContext
  readonly registry: SocketRegistry
}

/** Checks the headers of a handshake. A body is refused: it could hide another request. */
export const refuseHandshake = (
  request: Request,
  { server, registry }: Pick<MountedSocket, 'server' | 'registry'>,
): Reply | undefined => {
  const { failures } = server
  if (registry.isClosing) return failures.unavailable
  const isUpgrade =
    request.header('upgrade').toLowerCase() === 'websocket' &&
    UPGRADE.test(request.header('connection'))
  const hasBody =
    request.header('transfer-encoding') !== '' || Number(request.header('content-length')) > 0
  if (!isUpgrade || hasBody) return failures.badRequest
  return request.header('sec-websocket-version') === VERSION ? undefined : failures.upgradeVersion
}

/** A request that becomes a WebSocket; where it is refused it is answered as any other. */
export class Handshake extends Exchange {
  private readonly socket: MountedSocket
  private readonly native: SocketContext

  constructor(
    socket: MountedSocket,
    from: { res: HttpResponse; req: HttpRequest; context: SocketContext },
  ) {
    super(socket.server, socket.mounted, { ...from, method: 'GET' })
    this.socket = socket
    this.native = from.context
  }

  protected override run(): void {
    const { registry, route, server } = this.socket
    const handle = new ServerSocket(registry, route, this.context)
    this.finish()
    server.connections--
    try {
      // Opens the socket before it returns. Clients that ask for a subprotocol close a socket
      // without one.
      const protocol = FIRST_TOKEN.exec(this.header(PROTOCOLS))?.[1] ?? ''
      this.res.upgrade(handle, this.header(KEY), protocol, this.header(EXTENSIONS), this.native)
    } catch (error) {
      server.log.error({ err: error, requestId: this.id }, 'a WebSocket could not be opened')
      handle.onClose(0)
    }
  }
}
