import type { Principal } from '../access/limiter/usage-limiter.js'
import type { Grant } from '../shared/grant.js'
import type { Log } from '../shared/log.js'
import { isReply, type Reply, type Request, type Route } from '../shared/http.js'
import { submissionHeaders, type Relay } from '../submission/relay/relay.js'
import type { RelayOrigin } from '../submission/relay/relay-types.js'
import { RELAY_ROUTES, type RelayRoute } from '../submission/store/submission.js'
import { LANDER_ROUTES, type Lander, type LanderRoute } from '../submission/lander/lander.js'
import {
  createAdmit,
  createRecheck,
  createAcquire,
  failureReply,
  pathToken,
  submissionToken,
  type AdmissionParts,
} from './admission.js'

/** What one network offers on the submission routes. */
export type NetworkSubmission = {
  readonly lander: Lander | undefined
  readonly relay: (route: RelayRoute) => Relay | undefined
}

/** What the submission routes of one location need. */
export type SubmissionParts = AdmissionParts & {
  readonly networks: ReadonlyMap<string, NetworkSubmission>
  readonly bodyBytesMax: number
  readonly newSubmissionId: () => Uint8Array
  /** Level debug writes a line for each request: ids, never the token. */
  readonly log: Log
}

/** A request that was admitted, before its body arrives. */
type Admitted = {
  readonly grant: Grant
  readonly recheck: () => Reply | undefined
  readonly principal: Principal
}
type LanderContext = Admitted & { readonly lander: Lander }
type RelayContext = Admitted & { readonly relay: Relay; readonly origin: RelayOrigin }

/** Where a token may be: in the path, or else where `submissionToken` reads it. */
const FORMS = [
  ['/:token', pathToken],
  ['', submissionToken],
] as const

const NO_LANDER = failureReply('noLander')
const NO_RELAY = failureReply('noRelay')

// The beginning of every error reply of the service. An upstream's reply is bytes, and not parsed.
const ERROR_START = '{"jsonrpc":"2.0","error":'
const isFailure = ({ status, body }: Reply): boolean =>
  status >= 400 || (typeof body === 'string' && body.startsWith(ERROR_START))

/** The submission routes of one location. Of query strings only `api-key` is read. */
export const createSubmissionRoutes = (parts: SubmissionParts): readonly Route[] => {
  const routes = new SubmissionRoutes(parts)
  return [
    ...LANDER_ROUTES.flatMap(route => routes.lander(route)),
    ...RELAY_ROUTES.flatMap(route => routes.relay(route)),
  ].map(route => route as Route)
}

class SubmissionRoutes {
  private readonly parts: SubmissionParts
  private readonly admitGrant
  private readonly acquire
  private readonly toRecheck
  private readonly isLogged: boolean

  constructor(parts: SubmissionParts) {
    this.parts = parts
    this.admitGrant = createAdmit(parts)
    this.acquire = createAcquire(parts)
    this.toRecheck = createRecheck(parts)
    this.isLogged = parts.log.isLevelEnabled('debug')
  }

  lander(route: LanderRoute): readonly Route<LanderContext>[] {
    const { bodyBytesMax, networks, limiter } = this.parts
    const landerOf = ({ network }: Grant) => networks.get(network)?.lander ?? NO_LANDER
    return FORMS.map(([prefix, tokenOf]) => ({
      method: 'POST',
      pattern: `${prefix}${route}`,
      contentType:
        route === '/lander-submit-batch' ? 'application/octet-stream' : 'application/json',
      bodyBytesMax,
      isAuthenticated: true,
      open: (request: Request) => {
        const found = this.admit(tokenOf(request), request, landerOf)
        return isReply(found) ? found : { ...found.admitted, lander: found.target }
      },
      handle: ({ grant, lander, recheck, principal }, body, request) => {
        this.logRequest(route, grant, request, body)
        return recheck() ?? this.count(route, principal, lander.submit(route, body, recheck))
      },
      ownerOf: ({ principal }: LanderContext) => principal.grant.accessId,
      done: ({ principal }: LanderContext) => limiter.release(principal, 1),
    }))
  }

  relay(route: RelayRoute): readonly Route<RelayContext>[] {
    const { bodyBytesMax, networks, newSubmissionId, limiter } = this.parts
    const relayOf = ({ network }: Grant) => networks.get(network)?.relay(route) ?? NO_RELAY
    return FORMS.map(([prefix, tokenOf]) => ({
      method: 'POST',
      pattern: `${prefix}${route}`,
      contentType: 'application/json',
      bodyBytesMax,
      isAuthenticated: true,
      open: (request: Request) => {
        const found = this.admit(tokenOf(request), request, relayOf)
        if (isReply(found)) return found
        const { admitted, target } = found
        const { grant, recheck } = admitted
        const origin = { grant, recheck, submissionId: newSubmissionId(), request }
        return { ...admitted, relay: target, origin }
      },
      handle: ({ relay, origin, principal }, body) => {
        this.logRequest(route, origin.grant, origin.request, body)
        return this.count(route, principal, relay.handle(body, origin))
      },
      ownerOf: ({ principal }: RelayContext) => principal.grant.accessId,
      done: ({ principal }: RelayContext) => limiter.release(principal, 1),
      refusalHeaders: () => submissionHeaders(newSubmissionId()),
    }))
  }

  /** Admits a request to what its network offers on the route. */
  private admit<T extends object>(
    token: string,
    request: Request,
    targetOf: (grant: Grant) => T | Reply,
  ): { readonly admitted: Admitted; readonly target: T } | Reply {
    const recheck = this.toRecheck(token, request)
    const grant = this.admitGrant(token, request)
    if (isReply(grant)) return grant
    const target = targetOf(grant)
    if (isReply(target)) return target
    const principal = this.parts.limiter.principalOf(grant)
    const refused = this.acquire(principal)
    return refused ?? { admitted: { grant, recheck, principal }, target }
  }

  /** Counts a call of a route once it is answered. */
  private count(
    route: string,
    principal: Principal,
    reply: Reply | Promise<Reply>,
  ): Reply | Promise<Reply> {
    if (reply instanceof Promise)
      return reply.then(settled => this.count(route, principal, settled))
    principal.meter.addCall(route, isFailure(reply), this.parts.now())
    return reply
  }

  private logRequest(
    route: string,
    { tokenId, network }: Grant,
    { id }: Pick<Request, 'id'>,
    body: Uint8Array,
  ): void {
    if (!this.isLogged) return
    const { location, log } = this.parts
    const bytes = body.byteLength
    log.debug({ requestId: id, tokenId, location, network, route, bytes }, 'submission')
  }
}
