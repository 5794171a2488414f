import type { CompressOptions, TemplatedApp } from 'uWebSockets.js'
import type { SocketRoute } from '../../shared/socket.js'
import { Handshake, refuseHandshake, type MountedSocket } from './handshake.js'
import type { SocketData } from './server-socket.js'

/** Gives every pattern its WebSockets. What is no handshake there goes to the routes. */
export const mountSockets = (
  app: TemplatedApp,
  routes: readonly SocketRoute[],
  {
    shared,
    keeper,
    compression,
  }: Pick<MountedSocket, 'shared' | 'keeper'> & { readonly compression: CompressOptions },
): void => {
  const { options, failures } = shared
  for (const route of routes) {
    const socket: MountedSocket = {
      route,
      shared,
      keeper,
      mounted: {
        route: {
          method: 'GET',
          pattern: route.pattern,
          bodyBytesMax: 0,
          open: request => refuseHandshake(request, { shared, keeper }) ?? route.open(request),
          handle: () => failures.internal,
        },
        bodyTooLarge: failures.bodyTooLarge(0),
        contentTypeRefused: failures.badRequest,
      },
    }
    app.ws<SocketData>(route.pattern, {
      compression,
      idleTimeout: options.socketIdleSeconds,
      sendPingsAutomatically: true,
      maxPayloadLength: options.socketReadBytesMax,
      // Over it a frame would be left out; then at least the connection goes with it.
      maxBackpressure: options.socketsQueuedBytesMax,
      closeOnBackpressureLimit: 1,
      upgrade: (res, req, context) => new Handshake(socket, { res, req, context }).begin(),
      open: ws => ws.getUserData().handle.onOpen(ws),
      message: (ws, message, isBinary) => ws.getUserData().handle.onMessage(message, isBinary),
      drain: ws => ws.getUserData().handle.onDrain(),
      close: (ws, code) => ws.getUserData().handle.onClose(code),
    })
  }
}
