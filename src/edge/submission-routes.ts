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

/** A submission whose body is not here yet. */
type Opened = {
  readonly grant: Grant
  readonly lander: Lander
  readonly recheck: () => Reply | undefined
  readonly principal: Principal
}

/** A request that a relay was found for. */
type Relayed = {
  readonly relay: Relay
  readonly origin: RelayOrigin
  readonly principal: Principal
}

/** Where a token may stand: in the path, or else where `submissionToken` looks. */
const FORMS = [
  ['/:token', pathToken],
  ['', submissionToken],
] as const

const NO_LANDER = failureReply('noLander')
const NO_RELAY = failureReply('noRelay')

// How every error reply of ours begins. What an upstream says within a 200 is bytes, and stays its
// own.
const ERROR_START = '{"jsonrpc":"2.0","error":'
const isFailure = ({ status, body }: Reply): boolean =>
  status >= 400 || (typeof body === 'string' && body.startsWith(ERROR_START))

const counted = (principal: Principal, reply: Reply | Promise<Reply>): Reply | Promise<Reply> => {
  if (reply instanceof Promise) return reply.then(settled => counted(principal, settled))
  if (isFailure(reply)) principal.meter.addError()
  return reply
}

/** The submission routes of one location. Query strings count for nothing but `api-key`. */
export const createSubmissionRoutes = (parts: SubmissionParts): readonly Route[] => {
  const { networks, bodyBytesMax, newSubmissionId, limiter, now, location, log } = parts
  const admit = createAdmit(parts)
  const acquire = createAcquire(parts)

  const isLogged = log.isLevelEnabled('debug')
  const note = (
    route: string,
    grant: Grant,
    { id }: Pick<Request, 'id'>,
    body: Uint8Array,
  ): void => {
    if (!isLogged) return
    const { tokenId, network } = grant
    const bytes = body.byteLength
    log.debug({ requestId: id, tokenId, location, network, route, bytes }, 'submission')
  }

  const watch = createRecheck(parts)
  const findLander = (grant: Grant): Lander | Reply =>
    networks.get(grant.network)?.lander ?? NO_LANDER

  const open = (token: string, request: Request): Opened | Reply => {
    const nowMs = now()
    const recheck = watch(token, request)
    const grant = admit(token, request, nowMs)
    if (isReply(grant)) return grant
    const lander = findLander(grant)
    if (isReply(lander)) return lander
    const principal = limiter.principalOf(grant)
    return acquire(principal, nowMs) ?? { grant, lander, recheck, principal }
  }

  const lander = (route: LanderRoute): Route<Opened>[] =>
    FORMS.map(([prefix, tokenOf]) => ({
      method: 'POST',
      pattern: `${prefix}${route}`,
      contentType:
        route === '/lander-submit-batch' ? 'application/octet-stream' : 'application/json',
      bodyBytesMax,
      open: (request: Request) => open(tokenOf(request), request),
      handle: ({ grant, lander, recheck, principal }, body, request) => {
        note(route, grant, request, body)
        return recheck() ?? counted(principal, lander.submit(route, body, recheck))
      },
      done: ({ principal }: Opened) => limiter.release(principal, 1),
    }))

  const openRelay = (route: RelayRoute, token: string, request: Request): Relayed | Reply => {
    const nowMs = now()
    const recheck = watch(token, request)
    const grant = admit(token, request, nowMs)
    if (isReply(grant)) return grant
    const relay = networks.get(grant.network)?.relay(route)
    if (relay === undefined) return NO_RELAY
    const principal = limiter.principalOf(grant)
    const refused = acquire(principal, nowMs)
    if (refused !== undefined) return refused
    const origin = { grant, recheck, submissionId: newSubmissionId(), request }
    return { relay, origin, principal }
  }

  const relay = (route: RelayRoute): Route<Relayed>[] =>
    FORMS.map(([prefix, tokenOf]) => ({
      method: 'POST',
      pattern: `${prefix}${route}`,
      contentType: 'application/json',
      bodyBytesMax,
      open: (request: Request) => openRelay(route, tokenOf(request), request),
      handle: ({ relay, origin, principal }, body) => {
        note(route, origin.grant, origin.request, body)
        return counted(principal, relay.handle(body, origin))
      },
      done: ({ principal }: Relayed) => limiter.release(principal, 1),
      refusalHeaders: () => submissionHeaders(newSubmissionId()),
    }))

  return [...LANDER_ROUTES.flatMap(lander), ...RELAY_ROUTES.flatMap(relay)].map(
    route => route as Route,
  )
}
