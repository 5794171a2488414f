import type { Authenticate, OnRefused } from '../../access/authenticate.js'
import type { Grant } from '../../shared/grant.js'
import type { Log } from '../../shared/log.js'
import { CLOSE, type CloseCode } from '../../shared/socket.js'
import type { SocketSession } from './session.js'

type Reason = Parameters<OnRefused>[0]

/** What a closed WebSocket is told. */
const REASONS: Readonly<Record<Reason, string>> = {
  unknown: 'token revoked',
  location: 'token revoked',
  address: 'address refused',
  early: 'access ended',
  ended: 'access ended',
}

/** What a token opens now, or why it opens nothing any more. */
export type Judge = (
  who: { readonly token: string; readonly address: string },
  location: string,
  nowMs: number,
) => Grant | Reason

/** Judges what is open already: no attempt, so nothing that the token's owner sees as one. */
export const createJudge = (create: (onRefused: OnRefused) => Authenticate): Judge => {
  let last: Reason = 'unknown'
  const authenticate = create(reason => {
    last = reason
  })
  return (who, location, nowMs) => {
    const grant = authenticate(who.token, location, who, nowMs)
    return typeof grant === 'string' ? last : grant
  }
}

/** What groups are judged by. */
export type GroupParts = {
  readonly location: string
  readonly judge: Judge
  /** Value of accessVersion. */
  readonly version: () => number
  readonly log: Log
}

/** The WebSockets of one token and one address: they may go on together, or not at all. */
export class SocketGroup {
  readonly token: string
  readonly address: string
  readonly sessions = new Set<SocketSession>()
  grant: Grant
  /** The accessVersion by which `grant` holds. */
  version: number
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

  /** Whether it may go on; where not, its WebSockets are closed by now. */
  isValid(nowMs: number): boolean {
    if (this.version === this.parts.version() && nowMs < this.grant.validUntilMs) return true
    return this.judge(nowMs)
  }

  private judge(nowMs: number): boolean {
    const { judge, location, log, version } = this.parts
    // Read first: a change that comes after this line makes it be judged again.
    const current = version()
    try {
      const grant = judge(this, location, nowMs)
      if (typeof grant === 'string') {
        this.close(CLOSE.policy, REASONS[grant])
        return false
      }
      this.grant = grant
      this.version = current
      return true
    } catch (error) {
      log.error({ err: error, location }, 'an open WebSocket could not be judged')
      this.close(CLOSE.fault, 'internal error')
      return false
    }
  }

  private close(code: CloseCode, reason: string): void {
    for (const session of this.sessions) session.close(code, reason)
  }
}
