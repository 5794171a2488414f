import { isReply, type Reply, type Request } from '../../shared/http.js'
import type { Connection, Socket, SocketRoute } from '../../shared/socket.js'
import {
  createAdmit,
  headerToken,
  pathToken,
  refusalOf,
  UNAUTHORIZED,
  type AdmissionParts,
} from '../admission.js'
import type { EdgeParts } from '../rpc-routes.js'
import type { Options } from '../../processes/options.js'
import { SocketGroup, type Judge } from './group.js'
import { SocketSession, type ReplyBudget, type SocketHost } from './session.js'

/** What the WebSockets of one location need. */
export type EdgeSocketsParts = AdmissionParts &
  Pick<EdgeParts, 'views' | 'log'> & {
    readonly options: Pick<
      Options,
      'socketFrameBytesMax' | 'socketCallsMax' | 'socketRefusedBytesMax'
    >
    readonly judge: Judge
    /** One for all locations. */
    readonly budget: ReplyBudget
    /** Who answers the subscriptions of a network. */
    readonly connect: (
      network: string,
      socket: Socket,
      limits: { readonly subscriptionsMax: number },
    ) => Connection | undefined
  }

/** The WebSockets of one location. */
export type EdgeSockets = {
  readonly routes: readonly SocketRoute[]
  /**
   * Judges what is open by the accesses as they are now, and closes what may not go on: nothing is
   * sent to it after this returns.
   */
  judge(): void
}

const PIECE_BYTES = 64 * 1024

/** JSON-RPC over WebSockets, at the paths where it is over HTTP. */
export const createEdgeSockets = (parts: EdgeSocketsParts): EdgeSockets => {
  const { location, views, log, limiter, now, version, options, onRefusal, budget } = parts
  const admitToken = createAdmit(parts)
  const isLogged = log.isLevelEnabled('debug')
  const groups = new Map<string, SocketGroup>()
  const hosts = new Map(
    Array.from(views, ([network, view]): [string, SocketHost] => [
      network,
      {
        location,
        view,
        limiter,
        options,
        budget,
        pieceBytes: PIECE_BYTES,
        now,
        onRefusal,
        log,
        isLogged,
        connect: (socket, limits) => parts.connect(network, socket, limits),
      },
    ]),
  )

  const open = (token: string, request: Request): SocketSession | Reply => {
    // Read first: a change that comes after this line makes it be judged again.
    const current = version()
    const nowMs = now()
    const grant = admitToken(token, request, nowMs)
    if (isReply(grant)) return grant
    const host = hosts.get(grant.network)
    if (host === undefined) return UNAUTHORIZED
    const principal = limiter.principalOf(grant)
    const exceeded = limiter.acquireSocket(principal, nowMs)
    if (exceeded !== undefined) return refusalOf(exceeded, onRefusal)
    const { address } = request
    const key = `${address} ${token}`
    let group = groups.get(key)
    if (group === undefined) {
      group = new SocketGroup(parts, { token, address, grant, version: current })
      groups.set(key, group)
    }
    return new SocketSession(host, group, principal)
  }

  const route = (
    pattern: string,
    tokenOf: (request: Request) => string,
  ): SocketRoute<SocketSession> => ({
    pattern,
    frameBytesMax: options.socketFrameBytesMax,
    open: request => open(tokenOf(request), request),
    onOpen: (session, socket) => session.onOpen(socket),
    onMessage: (session, socket, body) => session.onMessage(socket, body),
    onDrain: (session, socket) => session.onDrain(socket),
    onClose: session => {
      session.onClose()
      const { group } = session
      if (group.sessions.size === 0) groups.delete(`${group.address} ${group.token}`)
    },
  })

  return {
    routes: [route('/:token', pathToken), route('/', headerToken)].map(made => made as SocketRoute),
    judge: () => {
      const nowMs = now()
      for (const group of groups.values()) group.isValid(nowMs)
    },
  }
}
