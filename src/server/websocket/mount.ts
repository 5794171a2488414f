import { patternsOf } from '../http/patterns.js'
import type { App } from '../compiled/library.js'
import type { SocketBehavior } from '../compiled/socket.js'
import type { SocketRoute } from '../../shared/socket.js'
import { Handshake, refuseHandshake, type MountedSocket } from './handshake.js'
import type { SocketData } from './server-socket.js'

type MountParts = Pick<MountedSocket, 'server' | 'registry'> & {
  readonly compression: number
}

/**
 * Opens WebSockets at the pattern of each route. Other requests there are answered by the HTTP
 * routes.
 */
export const mountSockets = (
  app: App,
  routes: readonly SocketRoute[],
  { server, registry, compression }: MountParts,
): void => {
  const { options, failures } = server
  for (const route of routes) {
    const socket: MountedSocket = {
      route,
      server,
      registry,
      mounted: {
        route: {
          method: 'GET',
          pattern: route.pattern,
          bodyBytesMax: 0,
          open: request => refuseHandshake(request, { server, registry }) ?? route.open(request),
          handle: () => failures.internal,
        },
        bodyTooLarge: failures.bodyTooLarge(0),
        contentTypeRefused: failures.badRequest,
      },
    }
    const behavior: SocketBehavior<SocketData> = {
      compression,
      idleTimeout: options.socketIdleSeconds,
      maxPayloadLength: options.socketReadBytesMax,
      upgrade: (res, req, context) => new Handshake(socket, { res, req, context }).begin(),
      open: ws => ws.getUserData().handle.onOpen(ws),
      message: (ws, message, isBinary) => ws.getUserData().handle.onMessage(message, isBinary),
      drain: ws => ws.getUserData().handle.onDrain(),
      idleFrames: (ws, count) => ws.getUserData().handle.onIdleFrames(count),
      exceeded: (ws, bound) => ws.getUserData().handle.onExceeded(bound),
      close: (ws, code) => ws.getUserData().handle.onClose(code),
    }
    for (const pattern of patternsOf(route.pattern)) app.ws(pattern, behavior)
  }
}
