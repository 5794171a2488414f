import { isRefusal, type Authenticate, type Refusal } from '../../access/authenticate.js'
import type { Principal } from '../../access/limiter/usage-limiter.js'
import type { Limits } from '../../shared/access-limits.js'
import type { Grant } from '../../shared/grant.js'
import type { Log } from '../../shared/log.js'
import { CLOSE, type CloseCode, type Socket } from '../../shared/socket.js'

/** Close reasons sent to clients. */
const CLOSE_REASONS: Readonly<Record<Refusal['reason'], string>> = {
  malformed: 'token revoked',
  unknown: 'token revoked',
  replaced: 'token revoked',
  location: 'token revoked',
  address: 'address refused',
  early: 'access ended',
  ended: 'access ended',
  leaseExpired: 'lease expired',
}

/** What groups are revalidated with. */
export type GroupParts = {
  readonly location: string
  readonly authenticate: Authenticate
  /** Value of accessVersion, NaN once the lease has expired. */
  readonly version: () => number
  readonly log: Log
}

/** A WebSocket of a group. */
export type GroupMember = Pick<Socket, 'close' | 'isClosed'> & {
  /** Who opened it. */
  readonly principal: Principal
  readonly subscriptionCount: number
}

const haveShrunk = (limits: Limits, before: Limits): boolean =>
  limits.socketsMax < before.socketsMax ||
  limits.subscriptionsPerSocketMax < before.subscriptionsPerSocketMax

/** The WebSockets of one token and one address, which are revalidated together. */
export class SocketGroup {
  readonly token: string
  readonly address: string
  readonly members = new Set<GroupMember>()
  grant: Grant
  /** The accessVersion that `grant` was read at. */
  version: number
  /** Its sockets were admitted within limits that have become smaller since. */
  hasShrunkLimits = false
  /** One of its sockets has subscribed. */
  hasSubscribed = false
  /** When its address was last counted as seen, in Unix milliseconds. */
  seenMs = 0
  private readonly parts: GroupParts

  constructor(
    parts: GroupParts,
    from: Pick<SocketGroup, 'token' | 'address' | 'grant' | 'version'>,
  ) {
    this.parts = parts
    this.token = from.token
    this.address = from.address
    this.grant = from.grant
    this.version = from.version
  }

  /**
   * Revalidates the group where needed. Closes its sockets and returns false if it is refused.
   */
  revalidateOrClose(nowMs: number): boolean {
    if (this.version === this.parts.version() && nowMs < this.grant.validUntilMs) return true
    const { authenticate, location, log, version } = this.parts
    // Read before: a change after this line must revalidate the group again.
    const current = version()
    try {
      // A refusal is not counted as an attempt to use the token.
      const grant = authenticate(this.token, location, this, nowMs)
      if (isRefusal(grant)) {
        // The access may be valid elsewhere: the client is to connect again.
        const code = grant.reason === 'leaseExpired' ? CLOSE.restart : CLOSE.policy
        this.close(code, CLOSE_REASONS[grant.reason], true)
        return false
      }
      this.hasShrunkLimits ||= haveShrunk(grant.limits, this.grant.limits)
      this.grant = grant
      this.version = current
      return true
    } catch (error) {
      log.error({ err: error, location }, 'an open WebSocket could not be revalidated')
      this.close(CLOSE.fault, 'internal error')
      return false
    }
  }

  /**
   * Closes sockets until the access has no more than its limits allow, the newest first.
   * `openSockets` counts those of the access, wherever they are.
   */
  closeOverLimits(openSockets: () => number): void {
    this.hasShrunkLimits = false
    const { socketsMax, subscriptionsPerSocketMax } = this.grant.limits
    // A socket is counted until its close frame has been sent.
    const isClosing = ({ isClosed }: GroupMember): boolean => isClosed
    let closing = [...this.members].filter(isClosing).length
    for (const member of [...this.members].toReversed()) {
      const isOver =
        member.subscriptionCount > subscriptionsPerSocketMax || openSockets() - closing > socketsMax
      if (!isOver || member.isClosed) continue
      member.close(CLOSE.overload, 'over a limit')
      if (this.members.has(member)) closing++
    }
  }

  private close(code: CloseCode, reason: string, discards = false): void {
    for (const member of this.members) member.close(code, reason, discards)
  }
}
