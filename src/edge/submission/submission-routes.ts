import { isReply, type Reply, type Request, type Route } from '../../shared/http.js'
import { submissionHeaders } from '../../submission/relay/relay.js'
import {
  isLanderRoute,
  isTransactionRoute,
  SUBMISSION_ROUTES,
  type SubmissionRoute,
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
import { toSendRoute } from './send-route.js'
import type { AdmittedSubmission, Submissions } from './submissions.js'

/** What the submission routes of one location need. */
export type SubmissionParts = AdmissionParts & {
  readonly submissions: Submissions
  readonly bodyBytesMax: number
}

/** Where a token may be: in the path, or else where `submissionToken` reads it. */
const FORMS = [
  ['/:token', pathToken],
  ['', submissionToken],
] as const

const NO_LANDER = failureReply('noLander')
const NO_LANES = failureReply('noLanes')
const NO_RELAY = failureReply('noRelay')

const absentReply = (route: SubmissionRoute): Reply => {
  if (route === '/race') return NO_LANES
  return isLanderRoute(route) ? NO_LANDER : NO_RELAY
}

/**
 * The submission routes of one location. Of query strings `api-key` is read, of those of one
 * transaction also its form.
 */
export const createSubmissionRoutes = (parts: SubmissionParts): readonly Route[] => {
  const { bodyBytesMax, limiter, now, submissions } = parts
  const admit = createAdmit(parts)
  const acquire = createAcquire(parts)
  const toRecheck = createRecheck(parts)

  const open = (
    route: SubmissionRoute,
    token: string,
    request: Request,
  ): AdmittedSubmission | Reply => {
    const recheck = toRecheck(token, request)
    const grant = admit(token, request)
    if (isReply(grant)) return grant
    const handler = submissions.handlerOf(grant, route)
    if (handler === undefined) return absentReply(route)
    const principal = limiter.principalOf(grant)
    return acquire(principal, request) ?? { grant, recheck, principal, request, handler }
  }

  const routeOf = (
    route: SubmissionRoute,
    [prefix, tokenOf]: (typeof FORMS)[number],
  ): Route<AdmittedSubmission> => ({
    method: 'POST',
    pattern: `${prefix}${route}`,
    contentType: route === '/lander-submit-batch' ? 'application/octet-stream' : 'application/json',
    bodyBytesMax,
    isAuthenticated: true,
    open: request => open(route, tokenOf(request), request),
    onClient: ({ principal }, { address }) => principal.meter.addClient(address, now()),
    handle: (admitted, body) => submissions.submit(admitted.handler, admitted, body),
    ownerOf: ({ principal }) => principal.grant.accessId,
    done: ({ principal }) => limiter.release(principal, 1),
    ...(!isLanderRoute(route) && {
      refusalHeaders: () => submissionHeaders(submissions.newId()),
    }),
  })
  return SUBMISSION_ROUTES.flatMap(route =>
    FORMS.map(form => {
      const mounted = routeOf(route, form)
      return (
        isTransactionRoute(route) ? toSendRoute(route, mounted, submissions) : mounted
      ) as Route
    }),
  )
}
