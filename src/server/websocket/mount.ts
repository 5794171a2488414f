import { patternsOf } from '../http/patterns.js'
import type { App } from '../compiled/library.js'
import { COMPRESSION } from '../compiled/functions.js'
import type { SocketRoute } from '../../shared/socket.js'
import { Handshake, refuseHandshake, type MountedSocket } from './handshake.js'

/**
 * Opens WebSockets at the pattern of each route. Other requests there are answered by the HTTP
 * routes.
 */
export const mountSockets = (
  app: App,
  routes: readonly SocketRoute[],
  { server, registry }: Pick<MountedSocket, 'server' | 'registry'>,
): void => {
  const { options, failures } = server
  const socketOptions = {
    compression: registry.isCompressed ? COMPRESSION.shared : COMPRESSION.none,
    idleTimeout: options.socketIdleSeconds,
    maxPayloadLength: options.socketReadBytesMax,
  }
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
    for (const pattern of patternsOf(route.pattern))
      app.ws(pattern, socketOptions, (res, req, context) =>
        new Handshake(socket, { res, req, context }).begin(),
      )
  }
}
