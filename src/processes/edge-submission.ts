import type { Grant } from '../shared/grant.js'
import { isReply, type Reply, type Request, type Route } from '../shared/http.js'
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
}

/** What the submission routes of one location need. */
export type SubmissionParts = AdmissionParts & {
  readonly networks: ReadonlyMap<string, NetworkSubmission>
  readonly bodyBytesMax: number
}

/** A submission whose body is not here yet. */
type Opened = { readonly lander: Lander; readonly recheck: () => Reply | undefined }

/** Where a token may stand: in the path, or else where `submissionToken` looks. */
const FORMS = [
  ['/:token', pathToken],
  ['', submissionToken],
] as const

const NO_LANDER = failureReply('noLander')

/** The submission routes of one location. Query strings count for nothing but `api-key`. */
export const createSubmissionRoutes = (parts: SubmissionParts): readonly Route[] => {
  const { networks, bodyBytesMax } = parts
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

  return LANDER_ROUTES.flatMap(lander).map(route => route as Route)
}
