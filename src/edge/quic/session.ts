import type { Principal } from '../../access/limiter/usage-limiter.js'
import type { QuicAnswer, QuicConnection, QuicSession } from '../../server/quic/quic-server.js'
import type { QuicClose } from '../../native/server/quic-listener.js'
import { RpcError } from '../../shared/errors.js'
import type { Reply } from '../../shared/http.js'
import { CLOSE, type CloseCode } from '../../shared/socket.js'
import { FULL } from '../../access/limiter/limit-table.js'
import { UNAUTHORIZED, type AdmissionParts } from '../admission.js'
import type { SubmissionForm, Submissions, Submitter } from '../submission/submissions.js'
import type { AccessPause, AccessPauses } from '../websocket/access-pauses.js'
import type { GroupMember, SocketGroup } from '../websocket/group.js'
import { toAnswer, toErrorAnswer, toRefusal } from './answer.js'

/** What the connections of one location share. */
export type QuicHost = AdmissionParts & {
  readonly submissions: Submissions
  /** Shared with WebSockets: an access that is refused is read later on both. */
  readonly pauses: AccessPauses
}

/** The reasons of closes that are decided for sockets of either kind. */
const REASONS: Readonly<Record<CloseCode, QuicClose>> = {
  [CLOSE.policy]: 'invalid_auth',
  [CLOSE.tooLarge]: 'unavailable',
  [CLOSE.fault]: 'unavailable',
  [CLOSE.restart]: 'unavailable',
  [CLOSE.overload]: 'connection_limit',
}

const NO_LANDER = toErrorAnswer(new RpcError('noLander'))
const OVERLOADED = toErrorAnswer(new RpcError('unavailable'))
/** On a connection that is closed, where nobody reads it. */
const ENDED = toErrorAnswer(new RpcError('unauthorized'))

type SubmitterParts = {
  readonly principal: Principal
  /** Transactions may be raced by lanes that protect them only. */
  readonly wantsProtection: boolean
  readonly onEnd: (session: QuicSubmitter) => void
}

/** Transactions over one QUIC connection: each is what a request to `/send` or `/race` is. */
export class QuicSubmitter implements QuicSession, GroupMember {
  readonly group: SocketGroup
  /** Who opened the connection. It is charged to this principal until it closes. */
  readonly principal: Principal
  readonly subscriptionCount = 0
  private readonly host: QuicHost
  private readonly form: SubmissionForm
  private readonly onEnd: (session: QuicSubmitter) => void
  private connection: QuicConnection | undefined
  private access: AccessPause | undefined

  constructor(
    host: QuicHost,
    group: SocketGroup,
    { onEnd, principal, wantsProtection }: SubmitterParts,
  ) {
    this.host = host
    this.group = group
    this.principal = principal
    this.form = { race: { isProtected: wantsProtection, isJson: false } }
    this.onEnd = onEnd
  }

  get accessId(): string {
    return this.principal.grant.accessId
  }

  get id(): string {
    return this.connection?.id ?? ''
  }

  get address(): string {
    return this.group.address
  }

  get isClosed(): boolean {
    return this.connection?.isClosed ?? true
  }

  close(code: CloseCode): void {
    this.connection?.close(REASONS[code])
  }

  onOpen(connection: QuicConnection): void {
    this.connection = connection
    this.group.members.add(this)
    this.access = this.host.pauses.of(this.accessId)
    this.access.add(connection)
  }

  onTransaction(bytes: Uint8Array): QuicAnswer | Promise<QuicAnswer> {
    const { connection, group, host } = this
    const { limiter, now, onRefusal, submissions } = host
    if (connection === undefined || !this.isEntitled()) return ENDED
    const handler = submissions.transactionHandlerOf(group.grant)
    if (handler === undefined) return NO_LANDER
    const principal = limiter.principalOf(group.grant)
    const exceeded = limiter.acquire(principal, now, this)
    if (exceeded !== undefined) {
      this.access?.refuse(connection)
      onRefusal(exceeded === FULL ? FULL : exceeded.limit)
      return exceeded === FULL ? OVERLOADED : toRefusal(429, exceeded.limit)
    }
    // Of a client that has sent and left, too.
    const recheck = (): Reply | undefined =>
      group.revalidateOrClose(now()) ? undefined : UNAUTHORIZED
    const submitter: Submitter = { grant: group.grant, principal, recheck, request: this }
    return this.submit(() => submissions.submit(handler, submitter, bytes, this.form), principal)
  }

  onClose(): void {
    const { access, connection, group, host, principal } = this
    this.connection = undefined
    if (connection !== undefined) access?.remove(connection)
    group.members.delete(this)
    host.limiter.releaseSocket(principal)
    this.onEnd(this)
  }

  private async submit(
    submit: () => Reply | Promise<Reply>,
    principal: Principal,
  ): Promise<QuicAnswer> {
    try {
      const reply = await submit()
      return this.isEntitled() ? toAnswer(reply) : ENDED
    } finally {
      this.host.limiter.release(principal, 1)
    }
  }

  /** False if nothing may be sent any more. */
  private isEntitled(): boolean {
    return !this.isClosed && this.group.revalidateOrClose(this.host.now()) && !this.isClosed
  }
}
