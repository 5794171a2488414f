import { isReply, type Reply, type Request, type Route } from '../../shared/http.js'
import type { Grant } from '../../shared/grant.js'
import { submissionHeaders, type Relay } from '../../submission/relay/relay.js'
import type { Lander } from '../../submission/lander/lander.js'
import {
  LANDER_ROUTES,
  RELAY_ROUTES,
  type LanderRoute,
  type RelayRoute,
} from '../../submission/store/submission.js'
import {
  createAdmit,
  createRecheck,
  createAcquire,
  failureReply,
  pathToken,
  submissionToken,
  type AdmissionParts,
} from '../admission.js'
import type { Submissions, Submitter } from './submissions.js'

/** What the submission routes of one location need. */
export type SubmissionParts = AdmissionParts & {
  readonly submissions: Submissions
  readonly bodyBytesMax: number
}

/** A request that was admitted, before its body arrives. */
type LanderContext = Submitter & { readonly lander: Lander }
type RelayContext = Submitter & { readonly relay: Relay }

/** Where a token may be: in the path, or else where `submissionToken` reads it. */
const FORMS = [
  ['/:token', pathToken],
  ['', submissionToken],
] as const

const NO_LANDER = failureReply('noLander')
const NO_RELAY = failureReply('noRelay')

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

  constructor(parts: SubmissionParts) {
    this.parts = parts
    this.admitGrant = createAdmit(parts)
    this.acquire = createAcquire(parts)
    this.toRecheck = createRecheck(parts)
  }

  lander(route: LanderRoute): readonly Route<LanderContext>[] {
    const { bodyBytesMax, limiter, now, submissions } = this.parts
    const landerOf = (grant: Grant) => submissions.landerOf(grant) ?? NO_LANDER
    return FORMS.map(([prefix, tokenOf]) => ({
      method: 'POST',
      pattern: `${prefix}${route}`,
      contentType:
        route === '/lander-submit-batch' ? 'application/octet-stream' : 'application/json',
      bodyBytesMax,
      isAuthenticated: true,
      open: (request: Request) => {
        const found = this.admit(tokenOf(request), request, landerOf)
        return isReply(found) ? found : { ...found.submitter, lander: found.target }
      },
      onClient: ({ principal }: LanderContext, { address }) =>
        principal.meter.addClient(address, now()),
      handle: (context, body) => submissions.submit(context.lander, route, context, body),
      ownerOf: ({ principal }: LanderContext) => principal.grant.accessId,
      done: ({ principal }: LanderContext) => limiter.release(principal, 1),
    }))
  }

  relay(route: RelayRoute): readonly Route<RelayContext>[] {
    const { bodyBytesMax, limiter, now, submissions } = this.parts
    const relayOf = (grant: Grant) => submissions.relayOf(grant, route) ?? NO_RELAY
    return FORMS.map(([prefix, tokenOf]) => ({
      method: 'POST',
      pattern: `${prefix}${route}`,
      contentType: 'application/json',
      bodyBytesMax,
      isAuthenticated: true,
      open: (request: Request) => {
        const found = this.admit(tokenOf(request), request, relayOf)
        return isReply(found) ? found : { ...found.submitter, relay: found.target }
      },
      onClient: ({ principal }: RelayContext, { address }) =>
        principal.meter.addClient(address, now()),
      handle: (context, body) => submissions.relay(context.relay, route, context, body),
      ownerOf: ({ principal }: RelayContext) => principal.grant.accessId,
      done: ({ principal }: RelayContext) => limiter.release(principal, 1),
      refusalHeaders: () => submissionHeaders(submissions.newSubmissionId()),
    }))
  }

  /** Admits a request to what its network offers on the route. */
  private admit<T extends object>(
    token: string,
    request: Request,
    targetOf: (grant: Grant) => T | Reply,
  ): { readonly submitter: Submitter; readonly target: T } | Reply {
    const recheck = this.toRecheck(token, request)
    const grant = this.admitGrant(token, request)
    if (isReply(grant)) return grant
    const target = targetOf(grant)
    if (isReply(target)) return target
    const principal = this.parts.limiter.principalOf(grant)
    const refused = this.acquire(principal)
    return refused ?? { submitter: { grant, recheck, principal, request }, target }
  }
}
