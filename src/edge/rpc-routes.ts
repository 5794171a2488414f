import type { Principal } from '../access/limiter/usage-limiter.js'
import type { Origin } from '../rpc/dispatch.js'
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
import type { NetworkView } from './network-view.js'

/** What the routes of one location need. */
export type EdgeParts = AdmissionParts & {
  readonly bodyBytesMax: number
  readonly views: ReadonlyMap<string, NetworkView>
  /** Level debug writes a line for each request: ids, never the token. */
  readonly log: Log
  /** `ok`, or why a balancer should look elsewhere. */
  readonly health: () => 'ok' | 'behind' | 'draining' | 'unknown'
}

/** A request that was let in: where its answer comes from, and what stands in its log lines. */
class Admitted implements Origin {
  readonly principal: Principal
  readonly view: NetworkView
  readonly request: Request
  // Set after the constructor: an object of options for each request would cost more than the rest
  // of this.
  token = ''
  /** The accessVersion by which it was let in. */
  version = Number.NaN
  readonly parts: EdgeParts
  /** How many it counts as in flight. */
  atOnce = 1

  constructor(principal: Principal, view: NetworkView, request: Request, parts: EdgeParts) {
    this.principal = principal
    this.parts = parts
    this.view = view
    this.request = request
  }

  // Getters, because the id is made when it is first read, and most requests are never logged.
  get id(): string {
    return this.request.id
  }

  get tokenId(): string {
    return this.principal.grant.tokenId
  }

  acquireBatch(calls: number, atOnce: number): Reply | undefined {
    const { limiter, now, onRefusal } = this.parts
    const exceeded = limiter.acquireBatch(this.principal, { calls, atOnce }, now())
    if (exceeded !== undefined) return refusalOf(exceeded, onRefusal)
    this.atOnce = atOnce
    return undefined
  }

  onFailure(): void {
    this.principal.meter.addError()
  }
}

const textReply = (status: number, body: string): Reply => ({
  status,
  contentType: 'text/plain',
  body,
})

/** Everything one location serves. */
export const createEdgeRoutes = (parts: EdgeParts): readonly Route[] => {
  const { location, views, health, log, version, limiter, now } = parts
  // Asked once: a closed level must not cost every request a look.
  const isLogged = log.isLevelEnabled('debug')

  const admitToken = createAdmit(parts)
  const acquire = createAcquire(parts)
  const admit = (token: string, request: Request): Admitted | Reply => {
    // Read first: a change that comes after this line makes the request be judged again.
    const current = version()
    const nowMs = now()
    const grant = admitToken(token, request, nowMs)
    if (isReply(grant)) return grant
    const view = views.get(grant.network)
    // A token of a network that is configured no more opens nothing.
    if (view === undefined) return UNAUTHORIZED
    const principal = limiter.principalOf(grant)
    const refused = acquire(principal, nowMs)
    if (refused !== undefined) return refused
    const admitted = new Admitted(principal, view, request, parts)
    admitted.token = token
    admitted.version = current
    return admitted
  }
  const recheck = (admitted: Admitted): Reply | undefined => {
    const current = version()
    if (admitted.version === current) return undefined
    const grant = admitToken(admitted.token, admitted.request)
    if (isReply(grant)) return grant
    admitted.version = current
    return undefined
  }

  const rpc = (pattern: string, tokenOf: (request: Request) => string): Route<Admitted> => ({
    method: 'POST',
    pattern,
    contentType: 'application/json',
    bodyBytesMax: parts.bodyBytesMax,
    open: request => admit(tokenOf(request), request),
    recheck,
    done: ({ principal, atOnce }) => limiter.release(principal, atOnce),
    handle: isLogged
      ? (admitted, body) => {
          const { id, tokenId, principal } = admitted
          const { network } = principal.grant
          log.debug({ requestId: id, tokenId, location, network, bytes: body.length }, 'request')
          return admitted.view.dispatch.handle(body, admitted)
        }
      : (admitted, body) => admitted.view.dispatch.handle(body, admitted),
  })

  const page = (pattern: string, answer: () => Reply): Route<undefined> => ({
    method: 'GET',
    pattern,
    bodyBytesMax: 0,
    open: () => undefined,
    handle: answer,
  })

  return [
    page('/health', () => {
      const state = health()
      return textReply(state === 'ok' ? 200 : 503, state)
    }),
    page('/ping', () => textReply(200, 'pong')),
    rpc('/:token', pathToken),
    rpc('/', headerToken),
  ].map(route => route as Route)
}
