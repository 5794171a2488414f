import type { Principal } from '../access/limiter/usage-limiter.js'
import type { LimitRefusal } from '../native/access/limits.js'
import type { Log } from '../shared/log.js'
import { isReply, type Reply, type Request, type Route } from '../shared/http.js'
import {
  createAdmit,
  createAcquire,
  headerToken,
  pathToken,
  refusalOf,
  UNAUTHORIZED,
  type AdmissionParts,
} from './admission.js'
import { ChargedCalls } from './charged-calls.js'
import type { DirectReads } from './direct-reads.js'
import type { LaneCounts } from '../storage/sender-status.js'
import type { Health } from './health.js'
import type { ServedNetwork } from './networks/network-view.js'

/** What the routes of one location need. */
export type EdgeParts = AdmissionParts & {
  readonly bodyBytesMax: number
  readonly views: ReadonlyMap<string, ServedNetwork>
  /** Registers admitted tokens with the compiled server. */
  readonly direct?: DirectReads | undefined
  /** At level debug each request writes a line with its ids, never the token. */
  readonly log: Log
  readonly health: () => Health
  /** How many lanes of the machine are in each state; undefined if that is unknown. */
  readonly lanes: () => LaneCounts | undefined
}

/** An admitted request. */
class Admitted extends ChargedCalls<Reply> {
  readonly view: ServedNetwork
  readonly request: Request
  readonly token: string
  /** The accessVersion that it was admitted at. */
  version: number
  private readonly onRefusal: AdmissionParts['onRefusal']

  constructor(
    principal: Principal,
    parts: EdgeParts,
    from: Pick<Admitted, 'view' | 'request' | 'token' | 'version'>,
  ) {
    super(principal, parts)
    this.onRefusal = parts.onRefusal
    this.view = from.view
    this.request = from.request
    this.token = from.token
    this.version = from.version
  }

  // A getter: the id is created at its first use, and most requests are never logged.
  get id(): string {
    return this.request.id
  }

  get ownsBody(): boolean {
    return this.request.ownsBody
  }

  get address(): string {
    return this.request.address
  }

  get slot(): number | undefined {
    return this.view.tipSlot
  }

  protected refuse(exceeded: LimitRefusal): Reply {
    this.onCall()
    return refusalOf(exceeded, this.onRefusal)
  }
}

/** Admits requests, and rechecks them after a change of accesses. */
const createRpcAdmission = (parts: EdgeParts) => {
  const { views, version, limiter, direct } = parts
  const admitToken = createAdmit(parts)
  const acquire = createAcquire(parts)
  return {
    admit: (token: string, request: Request): Admitted | Reply => {
      // Read before: a change after this line must recheck the request.
      const current = version()
      const grant = admitToken(token, request)
      if (isReply(grant)) return grant
      const view = views.get(grant.network)
      // The token's network was removed from the configuration.
      if (view === undefined) return UNAUTHORIZED
      const principal = limiter.principalOf(grant)
      const refused = acquire(principal, request)
      if (refused !== undefined) return refused
      const from = { view, request, token, version: current }
      const admitted = new Admitted(principal, parts, from)
      direct?.register(principal, { token, version: current, lane: view.lane })
      return admitted
    },
    recheck: (admitted: Admitted): Reply | undefined => {
      const current = version()
      if (admitted.version === current) return undefined
      const grant = admitToken(admitted.token, admitted.request)
      if (isReply(grant)) return grant
      admitted.version = current
      return undefined
    },
  }
}

const createRpcRoutes = (parts: EdgeParts): readonly Route<Admitted>[] => {
  const { bodyBytesMax, location, log, limiter, now } = parts
  const { admit, recheck } = createRpcAdmission(parts)
  // Read once, so that a disabled level costs requests nothing.
  const isLogged = log.isLevelEnabled('debug')
  const logRequest = (
    { id, tokenId, principal }: Admitted,
    { length: bytes }: Uint8Array,
  ): void => {
    const { network } = principal.grant
    log.debug({ requestId: id, tokenId, location, network, bytes }, 'request')
  }
  const rpc = (pattern: string, tokenOf: (request: Request) => string): Route<Admitted> => ({
    method: 'POST',
    pattern,
    contentType: 'application/json',
    bodyBytesMax,
    isAuthenticated: true,
    open: request => admit(tokenOf(request), request),
    onClient: ({ principal }, { address }) => principal.meter.addClient(address, now()),
    recheck,
    ownerOf: ({ principal }) => principal.grant.accessId,
    done: ({ principal, atOnce }) => limiter.release(principal, atOnce),
    handle: (admitted, body) => {
      admitted.bytes = body.length
      if (isLogged) logRequest(admitted, body)
      return admitted.view.dispatch.handle(body, admitted)
    },
  })
  return [rpc('/:token', pathToken), rpc('/', headerToken)]
}

const textReply = (status: number, body: string): Reply => ({
  status,
  contentType: 'text/plain',
  body,
})

/** Numbers only: whoever asks needs no token. */
const formatLanes = ({ down, throttled, up }: LaneCounts): string =>
  `up=${up}, down=${down}, throttled=${throttled}`

const createPage = (pattern: string, reply: () => Reply): Route => ({
  method: 'GET',
  pattern,
  bodyBytesMax: 0,
  open: () => undefined,
  handle: reply,
})

/** The JSON-RPC routes of one location, and its health checks. */
export const createEdgeRoutes = (parts: EdgeParts): readonly Route[] => [
  createPage('/health', () => {
    const state = parts.health()
    const lanes = parts.lanes()
    const reply = textReply(state === 'ok' ? 200 : 503, state)
    return lanes === undefined ? reply : { ...reply, headers: { 'X-Lanes': formatLanes(lanes) } }
  }),
  createPage('/ping', () => textReply(200, 'pong')),
  ...createRpcRoutes(parts).map(route => route as Route),
]
