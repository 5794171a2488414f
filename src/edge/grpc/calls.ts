import { isRefusal, REFUSAL_ERRORS, type RefusalError } from '../../access/authenticate.js'
import { FULL } from '../../access/limiter/limit-table.js'
import type { Principal } from '../../access/limiter/usage-limiter.js'
import type { GrpcEvent, GrpcRefusal, GrpcServer } from '../../native/server/grpc-server.js'
import { formatAddress } from '../../server/http/address.js'
import type { Log } from '../../shared/log.js'
import { CLOSE, type CloseCode } from '../../shared/socket.js'
import type { AdmissionParts } from '../admission.js'
import { SocketGroup, type GroupMember } from '../websocket/group.js'

/** How often the address of open streams counts as seen: usage shows those of the last day. */
const SEEN_MS = 3_600_000

/** What the calls of all locations share. */
export type GrpcHost = Omit<AdmissionParts, 'location'> & {
  readonly log: Log
  /** The location of each listener, in the order of the server's. */
  readonly locations: readonly string[]
  /** Ids of networks, in the order of the server's. */
  readonly networks: readonly string[]
}

type Call = Extract<GrpcEvent, { kind: 'call' }>
type Calls = Pick<GrpcServer, 'admit' | 'refuse' | 'closeStream'>

/** 503 is tried again by clients, 401 and 403 are not: as UNAVAILABLE and UNAUTHENTICATED. */
const REFUSALS: Readonly<Record<RefusalError, GrpcRefusal>> = {
  unauthorized: 'unauthenticated',
  forbidden: 'address',
  leaseExpired: 'unavailable',
}

/** What a group says of WebSockets. */
const REASONS: Readonly<Record<string, GrpcRefusal>> = {
  'address refused': 'address',
  'access ended': 'ended',
}

const reasonOf = (code: CloseCode, text: string): GrpcRefusal => {
  if (code === CLOSE.policy) return REASONS[text] ?? 'unauthenticated'
  return code === CLOSE.overload ? 'streams' : 'unavailable'
}

/** One open stream. */
class Stream implements GroupMember {
  readonly group: SocketGroup
  /** Of the group, among all. */
  readonly key: string
  readonly principal: Principal
  readonly subscriptionCount = 0
  isClosed = false
  private readonly end: (reason: GrpcRefusal) => void

  constructor(
    { group, key, principal }: Pick<Stream, 'group' | 'key' | 'principal'>,
    end: (reason: GrpcRefusal) => void,
  ) {
    this.group = group
    this.key = key
    this.principal = principal
    this.end = end
  }

  close(code: CloseCode, reason = ''): void {
    if (this.isClosed) return
    this.isClosed = true
    this.end(reasonOf(code, reason))
  }
}

/** The calls of Yellowstone gRPC. A stream counts as a WebSocket of its access. */
export class GrpcCalls {
  private readonly host: GrpcHost
  private readonly server: Calls
  private readonly groups = new Map<string, SocketGroup>()
  private readonly streams = new Map<number, Stream>()

  constructor(host: GrpcHost, server: Calls) {
    this.host = host
    this.server = server
  }

  /** Never throws: a call that cannot be decided is refused. */
  handle(event: GrpcEvent): void {
    try {
      if (event.kind === 'ended') this.onEnded(event.call)
      else if (event.kind === 'call') this.onCall(event)
      else this.onSource(event)
    } catch (error) {
      this.host.log.error({ err: error }, 'a call could not be handled')
      if (event.kind === 'call') this.server.refuse(event.call, 'unavailable')
    }
  }

  /** Revalidates all streams, and ends those that may not continue. */
  revalidateAll(): void {
    const { limiter, now } = this.host
    const nowMs = now()
    for (const [key, group] of this.groups) {
      if (!group.revalidateOrClose(nowMs)) {
        this.groups.delete(key)
        continue
      }
      this.markSeen(group, nowMs)
      if (group.hasShrunkLimits)
        group.closeOverLimits(() => limiter.openSockets(limiter.principalOf(group.grant)))
    }
  }

  private onSource({ network, text: reason }: Extract<GrpcEvent, { kind: 'source' }>): void {
    const { log, networks } = this.host
    log.warn({ network: networks[network], reason }, 'a stream of the source has failed')
  }

  private onCall(event: Call): void {
    const { authenticate, limiter, locations, networks, now, onRefusal, version } = this.host
    const { call, isStream, method, token } = event
    const location = locations[event.listener] ?? ''
    const address = formatAddress(event.address)
    // Read before: a change after this line must revalidate the stream.
    const current = version()
    const nowMs = now()
    const grant = authenticate(token, location, { address }, nowMs)
    if (isRefusal(grant)) {
      const error = REFUSAL_ERRORS[grant.reason]
      onRefusal(error)
      limiter.addRefused(grant, { address }, nowMs)
      const isEnded = grant.reason === 'early' || grant.reason === 'ended'
      return this.server.refuse(call, isEnded ? 'ended' : REFUSALS[error])
    }
    const principal = limiter.principalOf(grant)
    const exceeded = isStream
      ? limiter.acquireSocket(principal, nowMs)
      : limiter.acquire(principal, now)
    if (exceeded !== undefined) {
      onRefusal(exceeded === FULL ? FULL : exceeded.limit)
      const reason = isStream ? 'streams' : 'rate'
      return this.server.refuse(call, exceeded === FULL ? 'unavailable' : reason)
    }
    const to = {
      network: networks.indexOf(grant.network),
      accessId: grant.accessId,
      filtersMax: grant.limits.subscriptionsPerSocketMax,
    }
    const isAdmitted = this.server.admit(call, to)
    if (!isStream) {
      // Answered from memory, in the time of a look at the limits.
      limiter.release(principal, 1)
      principal.meter.addCall(method, {}, nowMs)
      principal.meter.addClient(address, nowMs)
      return
    }
    if (!isAdmitted) return limiter.releaseSocket(principal)
    this.open(call, principal, { token, address, location, current, nowMs })
  }

  private open(
    call: number,
    principal: Principal,
    {
      token,
      address,
      location,
      current,
      nowMs,
    }: {
      readonly token: string
      readonly address: string
      readonly location: string
      readonly current: number
      readonly nowMs: number
    },
  ): void {
    const { host, server } = this
    const key = `${location} ${address} ${token}`
    const { grant } = principal
    const group =
      this.groups.get(key) ??
      new SocketGroup({ ...host, location }, { token, address, grant, version: current })
    this.groups.set(key, group)
    this.markSeen(group, nowMs)
    const stream = new Stream({ group, key, principal }, reason => server.closeStream(call, reason))
    group.members.add(stream)
    this.streams.set(call, stream)
  }

  private onEnded(call: number): void {
    const stream = this.streams.get(call)
    if (stream === undefined) return
    this.streams.delete(call)
    stream.isClosed = true
    const { group, principal } = stream
    group.members.delete(stream)
    this.host.limiter.releaseSocket(principal)
    if (group.members.size > 0) return
    if (this.groups.get(stream.key) === group) this.groups.delete(stream.key)
  }

  private markSeen(group: SocketGroup, nowMs: number): void {
    if (nowMs - group.seenMs < SEEN_MS) return
    group.seenMs = nowMs
    this.host.limiter.principalOf(group.grant).meter.addClient(group.address, nowMs)
  }
}
