import type { Grant } from '../shared/grant.js'
import { isReply, type Reply, type Request, type Route } from '../shared/http.js'
import { submissionHeaders, type Relay } from '../submission/relay.js'
import type { RelayOrigin } from '../submission/relay-parts.js'
import { RELAY_ROUTES, type RelayRoute } from '../submission/submission.js'
import { LANDER_ROUTES, type Lander, type LanderRoute } from '../submission/lander.js'
import {
  createAdmit,
  createRecheck,
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
}

/** A submission whose body is not here yet. */
type Opened = { readonly lander: Lander; readonly recheck: () => Reply | undefined }

/** A request that a relay was found for. */
type Relayed = { readonly relay: Relay; readonly origin: RelayOrigin }

/** Where a token may stand: in the path, or else where `submissionToken` looks. */
const FORMS = [
  ['/:token', pathToken],
  ['', submissionToken],
] as const

const NO_LANDER = failureReply('noLander')
const NO_RELAY = failureReply('noRelay')

/** The submission routes of one location. Query strings count for nothing but `api-key`. */
export const createSubmissionRoutes = (parts: SubmissionParts): readonly Route[] => {
  const { networks, bodyBytesMax, newSubmissionId } = parts
  const admit = createAdmit(parts)

  const watch = createRecheck(parts)
  const openLander = (grant: Grant): Lander | Reply =>
    networks.get(grant.network)?.lander ?? NO_LANDER

  const lander = (route: LanderRoute): Route<Opened>[] =>
    FORMS.map(([prefix, tokenOf]) => ({
      method: 'POST',
      pattern: `${prefix}${route}`,
      contentType:
        route === '/lander-submit-batch' ? 'application/octet-stream' : 'application/json',
      bodyBytesMax,
      open: (request: Request) => {
        const token = tokenOf(request)
        const recheck = watch(token, request)
        const grant = admit(token, request)
        if (isReply(grant)) return grant
        const opened = openLander(grant)
        return isReply(opened) ? opened : { lander: opened, recheck }
      },
      handle: ({ lander, recheck }: Opened, body: Uint8Array) =>
        recheck() ?? lander.submit(route, body),
    }))

  const openRelay = (route: RelayRoute, token: string, request: Request): Relayed | Reply => {
    const recheck = watch(token, request)
    const grant = admit(token, request)
    if (isReply(grant)) return grant
    const relay = networks.get(grant.network)?.relay(route)
    if (relay === undefined) return NO_RELAY
    return { relay, origin: { grant, recheck, submissionId: newSubmissionId(), request } }
  }

  const relay = (route: RelayRoute): Route<Relayed>[] =>
    FORMS.map(([prefix, tokenOf]) => ({
      method: 'POST',
      pattern: `${prefix}${route}`,
      contentType: 'application/json',
      bodyBytesMax,
      open: (request: Request) => openRelay(route, tokenOf(request), request),
      handle: ({ relay, origin }: Relayed, body: Uint8Array) => relay.handle(body, origin),
      refusalHeaders: () => submissionHeaders(newSubmissionId()),
    }))

  return [...LANDER_ROUTES.flatMap(lander), ...RELAY_ROUTES.flatMap(relay)].map(
    route => route as Route,
  )
}
