import { RpcError } from '../../shared/errors.js'
import type { Grant } from '../../shared/grant.js'
import { LoopTurn } from '../../shared/event-loop/loop-turn.js'
import { isReply, type Reply, type Request } from '../../shared/http.js'
import type { SocketRoute } from '../../shared/socket.js'
import {
  createAdmit,
  headerToken,
  pathToken,
  refusalOf,
  toReply,
  UNAUTHORIZED,
} from '../admission.js'
import { isProtectionAsked } from '../submission/query.js'
import { SocketGroup } from './group.js'
import type { EdgeSocketsParts, SocketHost } from './host.js'
import { SocketSession } from './session.js'
import type { SocketSubscriptions } from './subscription-counts.js'

/** The WebSockets of one location. */
export type EdgeSockets = {
  readonly routes: readonly SocketRoute[]
  /**
   * Revalidates all open sockets, and closes refused ones and those over limits that have become
   * smaller. Nothing is sent to refused ones afterwards.
   */
  revalidateAll(): void
  /** Of the sockets that have subscribed. */
  subscriptions(): Iterable<SocketSubscriptions>
}

/** How long replies are collected for in a turn of the event loop. */
const TURN_MS = 1

/** How often the address of open sockets counts as seen: usage shows those of the last day. */
const SEEN_MS = 3_600_000

const createHosts = (parts: EdgeSocketsParts): ReadonlyMap<string, SocketHost> => {
  const isLogged = parts.log.isLevelEnabled('debug')
  const turn = new LoopTurn(TURN_MS, parts.timers.now)
  return new Map(
    Array.from(parts.views, ([network, view]) => [
      network,
      {
        ...parts,
        isLogged,
        turn,
        view,
        connect: (socket, limits) => parts.connect(network, socket, limits),
      },
    ]),
  )
}

const keyOf = ({ address, token }: Pick<SocketGroup, 'address' | 'token'>): string =>
  `${address} ${token}`

/** JSON-RPC over WebSockets, at the same paths as over HTTP. */
export const createEdgeSockets = (parts: EdgeSocketsParts): EdgeSockets => {
  const { limiter, now, version, options, onRefusal } = parts
  const admitToken = createAdmit(parts)
  const hosts = createHosts(parts)
  const groups = new Map<string, SocketGroup>()

  const markSeen = (group: SocketGroup, nowMs: number): void => {
    if (nowMs - group.seenMs < SEEN_MS) return
    group.seenMs = nowMs
    limiter.principalOf(group.grant).meter.addClient(group.address, nowMs)
  }

  /** Whether it is asked for; refused where nothing is raced, which a client could not notice. */
  const toProtected = ({ query }: Request, grant: Grant): boolean | Reply => {
    const isRaced = parts.submissions?.submissions.isRaced(grant) ?? false
    try {
      return isProtectionAsked(new URLSearchParams(query), isRaced)
    } catch (error) {
      if (error instanceof RpcError) return toReply(error)
      throw error
    }
  }

  const open = (token: string, request: Request): SocketSession | Reply => {
    // Read before: a change after this line must revalidate the socket.
    const current = version()
    const nowMs = now()
    const grant = admitToken(token, request, nowMs)
    if (isReply(grant)) return grant
    const host = hosts.get(grant.network)
    if (host === undefined) return UNAUTHORIZED
    const wantsProtection = toProtected(request, grant)
    if (typeof wantsProtection !== 'boolean') return wantsProtection
    const principal = limiter.principalOf(grant)
    const exceeded = limiter.acquireSocket(principal, nowMs, request)
    if (exceeded !== undefined) return refusalOf(exceeded, onRefusal)
    const { address } = request
    const key = keyOf({ address, token })
    const group =
      groups.get(key) ?? new SocketGroup(parts, { token, address, grant, version: current })
    groups.set(key, group)
    markSeen(group, nowMs)
    return new SocketSession(host, group, { principal, wantsProtection })
  }

  const route = (
    pattern: string,
    tokenOf: (request: Request) => string,
  ): SocketRoute<SocketSession> => ({
    pattern,
    frameBytesMax: options.socketFrameBytesMax,
    open: request => open(tokenOf(request), request),
    onOpen: (session, socket) => session.onOpen(socket),
    onMessage: (session, socket, body, isBinary) => session.onMessage(socket, body, isBinary),
    onIdleFrames: (session, socket, count) => session.onIdleFrames(socket, count),
    isBusy: session => session.isBusy,
    onDrain: (session, socket) => session.onDrain(socket),
    onClose: session => {
      session.onClose()
      const { group } = session
      if (group.members.size === 0) groups.delete(keyOf(group))
    },
  })

  function* subscriptions(): Generator<SocketSubscriptions> {
    for (const { hasSubscribed, members } of groups.values())
      if (hasSubscribed)
        for (const { principal, subscriptionCount: count } of members)
          if (count > 0) yield { principal, count }
  }

  return {
    subscriptions,
    routes: [route('/:token', pathToken), route('/', headerToken)].map(one => one as SocketRoute),
    revalidateAll: () => {
      const nowMs = now()
      for (const group of groups.values()) {
        if (!group.revalidateOrClose(nowMs)) continue
        markSeen(group, nowMs)
        if (group.hasShrunkLimits)
          group.closeOverLimits(() => limiter.openSockets(limiter.principalOf(group.grant)))
      }
    },
  }
}
