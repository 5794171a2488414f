import { RpcError } from '../../shared/errors.js'
import { isReply, type Reply, type Request, type Route } from '../../shared/http.js'
import type { RaceForm } from '../../submission/lander/lander-types.js'
import type { SendEncoding } from '../../submission/lander/send-params.js'
import type { TransactionRoute } from '../../submission/store/submission.js'
import { toReply } from '../admission.js'
import { isProtectionAsked, toChoice } from './query.js'
import type { AdmittedSubmission, Submissions } from './submissions.js'

const BYTES = 'application/octet-stream'
const TEXT = 'text/plain'

/** What an accepted transaction is answered with. */
const RESPONSES = ['signature', 'json', 'none'] as const
type Response = (typeof RESPONSES)[number]

type Form = {
  readonly encoding: SendEncoding
  readonly response: Response
  readonly race?: RaceForm
}
type Opened = { readonly admitted: AdmittedSubmission; readonly form: Form }

const wrongContentType = new RpcError('contentType', { type: `${BYTES} or ${TEXT}` })

const toEncoding = (request: Request, query: URLSearchParams): SendEncoding => {
  const [type = ''] = request.header('content-type').split(';', 1)
  switch (type.trim().toLowerCase()) {
    case TEXT:
      return toChoice(query, 'encoding', ['base64', 'base58'])
    case BYTES: {
      if (!query.has('encoding')) return 'bytes'
      const expected = `absent with ${BYTES}`
      throw new RpcError('queryValue', { name: 'encoding', expected })
    }
    default:
      throw wrongContentType
  }
}

/** How the request has its transaction, and wants its reply. Throws an RpcError. */
const toForm = (route: TransactionRoute, request: Request): Form => {
  const query = new URLSearchParams(request.query)
  const response = toChoice(query, 'response', RESPONSES)
  const form = { encoding: toEncoding(request, query), response }
  if (route === '/send') return form
  const isProtected = isProtectionAsked(query, true)
  return { ...form, race: { isProtected, isJson: response === 'json' } }
}

/** The reply as it was asked for; an error is always told. */
const toResponse = (reply: Reply, response: Response): Reply => {
  if (reply.status !== 200 || response === 'signature') return reply
  if (response === 'none') return { ...reply, contentType: '', body: '' }
  // That of a race says more.
  if (reply.contentType !== TEXT) return reply
  const body = JSON.stringify({ result: reply.body })
  return { ...reply, contentType: 'application/json', body }
}

/** A route of raw transactions: its body is bytes or text, and its query says how. */
export const toSendRoute = (
  route: TransactionRoute,
  { method, pattern, bodyBytesMax, ...mounted }: Route<AdmittedSubmission>,
  submissions: Submissions,
): Route<Opened> => ({
  method,
  pattern,
  bodyBytesMax,
  isAuthenticated: true,
  open: request => {
    const admitted = mounted.open(request)
    if (isReply(admitted)) return admitted
    try {
      return { admitted, form: toForm(route, request) }
    } catch (error) {
      mounted.done?.(admitted)
      if (error instanceof RpcError) return toReply(error)
      throw error
    }
  },
  onClient: ({ admitted }, request) => mounted.onClient?.(admitted, request),
  handle: async ({ admitted, form }, body) => {
    const { response, ...asked } = form
    const reply = submissions.submit(admitted.handler, admitted, body, asked)
    return toResponse(reply instanceof Promise ? await reply : reply, response)
  },
  ownerOf: ({ admitted }) => admitted.principal.grant.accessId,
  done: ({ admitted }) => mounted.done?.(admitted),
})
