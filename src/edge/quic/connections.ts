import type { OpenQuicSession } from '../../server/quic/quic-server.js'
import { isRefusal, REFUSAL_ERRORS } from '../../access/authenticate.js'
import { FULL } from '../../access/limiter/limit-table.js'
import type { Log } from '../../shared/log.js'
import { SocketGroup } from '../websocket/group.js'
import { QuicSubmitter, type QuicHost } from './session.js'

/** The QUIC connections of one location. */
export type EdgeQuic = {
  readonly open: OpenQuicSession
  /** Revalidates all connections, and closes what may not continue. */
  revalidateAll(): void
}

/** How often the address of open connections counts as seen: usage shows those of the last day. */
const SEEN_MS = 3_600_000

const keyOf = ({ address, token }: Pick<SocketGroup, 'address' | 'token'>): string =>
  `${address} ${token}`

/** Transactions over QUIC. A connection counts as a WebSocket of its access. */
export const createEdgeQuic = (parts: QuicHost & { readonly log: Log }): EdgeQuic => {
  const { authenticate, limiter, location, now, onRefusal, submissions, version } = parts
  const groups = new Map<string, SocketGroup>()

  const markSeen = (group: SocketGroup, nowMs: number): void => {
    if (nowMs - group.seenMs < SEEN_MS) return
    group.seenMs = nowMs
    limiter.principalOf(group.grant).meter.addClient(group.address, nowMs)
  }

  const onEnd = ({ group }: QuicSubmitter): void => {
    if (group.members.size === 0) groups.delete(keyOf(group))
  }

  const open: OpenQuicSession = ({ address, token, wantsProtection }) => {
    // Read before: a change after this line must revalidate the connection.
    const current = version()
    const nowMs = now()
    const grant = authenticate(token, location, { address }, nowMs)
    if (isRefusal(grant)) {
      onRefusal(REFUSAL_ERRORS[grant.reason])
      limiter.addRefused(grant, { address }, nowMs)
      // The access may be valid elsewhere: the client is to connect again.
      return grant.reason === 'leaseExpired' ? 'unavailable' : 'invalid_auth'
    }
    // A promise that the lander's route does not make, whatever the lander does.
    if (wantsProtection && !submissions.isRaced(grant)) return 'protection_unavailable'
    const principal = limiter.principalOf(grant)
    const exceeded = limiter.acquireSocket(principal, nowMs)
    if (exceeded !== undefined) {
      onRefusal(exceeded === FULL ? FULL : exceeded.limit)
      return 'connection_limit'
    }
    const key = keyOf({ address, token })
    const group =
      groups.get(key) ?? new SocketGroup(parts, { token, address, grant, version: current })
    groups.set(key, group)
    markSeen(group, nowMs)
    return new QuicSubmitter(parts, group, { principal, wantsProtection, onEnd })
  }

  return {
    open,
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
