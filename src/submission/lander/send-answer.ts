import { RpcError, type ErrorName } from '../../shared/errors.js'
import { isMap, parseJson } from '../../shared/values.js'
import { failureOfStored, type SubmissionReply } from '../failure.js'
import type { EngineAnswer } from '../relay/engine-answer.js'
import type { UpstreamReply } from '../../upstream/reply.js'
import { readLanderAnswer, type LanderAnswer } from './answer.js'
import { FAILURES, STATUSES } from './replies.js'

/** Some landers answer too many requests like this. */
const SLOW_DOWN = 419
const SIGNATURE = /^[1-9A-HJ-NP-Za-km-z]{64,88}$/

/** The signature in an answer, in any of the forms in which senders have it. */
const namedIn = (value: unknown): string | undefined => {
  if (typeof value === 'string') return SIGNATURE.test(value) ? value : undefined
  if (isMap(value)) return namedIn(value['result'] ?? value['signature'])
  if (!Array.isArray(value)) return undefined
  const [first]: readonly unknown[] = value
  return typeof first === 'string' ? namedIn(first) : undefined
}

/** True where an answer names another transaction than the one that was sent. */
const namesAnother = (text: string, signature: string): boolean => {
  const named = namedIn(parseJson(text) ?? text.trim())
  return named !== undefined && named !== signature
}

/** True for an error in another form than that of JSON-RPC, and for a batch that was refused. */
const hasError = (text: string): boolean => {
  const parsed = parseJson(text)
  if (!isMap(parsed)) return false
  const { accepted, code, error, message, reason, success } = parsed
  if (isMap(error) || (typeof error === 'string' && error !== '')) return true
  if (success === false || accepted === 0) return true
  // As NextBlock: `{code, message}`, or a reason, in place of a signature.
  const isTold = (code !== undefined && typeof message === 'string') || typeof reason === 'string'
  return isTold && namedIn(parsed) === undefined
}

/** Of a route that takes bytes the status counts: it may answer a signature, a word or nothing. */
const readBinaryAnswer = (answer: UpstreamReply): EngineAnswer => {
  const read = readLanderAnswer('/send', answer)
  const isJson = read.result !== null || read.error !== null
  if (isJson || read.outcome !== 'unknown' || answer.status >= 300) return read
  if (hasError(answer.body.toString())) return { ...read, outcome: 'refused' }
  const words = answer.body.toString('latin1', 0, 128).trim()
  return { ...read, outcome: 'accepted', result: words === '' ? null : JSON.stringify(words) }
}

/**
 * How a transaction ended, as the lander's answer says. Where that names another one, it is not
 * known what was accepted.
 */
export const readSendAnswer = (
  answer: LanderAnswer,
  { isBinary, signature }: { readonly isBinary: boolean; readonly signature: string },
): EngineAnswer => {
  if (typeof answer === 'string') return readLanderAnswer('/send', answer)
  const status = answer.status === SLOW_DOWN ? 429 : answer.status
  const told = { ...answer, status }
  const read = isBinary ? readBinaryAnswer(told) : readLanderAnswer('/send', told)
  const isOther = read.outcome === 'accepted' && namesAnother(told.body.toString(), signature)
  return isOther ? { ...read, outcome: 'unknown', result: null } : read
}

const JSON_TYPE = 'application/json'

/** A reply to `/send` that is an error. */
export const sendError = (error: RpcError): SubmissionReply => {
  const { code, headers, status = 400 } = error.row
  const { data, message } = error
  return {
    reply: {
      status: STATUSES[error.name] ?? status,
      contentType: JSON_TYPE,
      body: JSON.stringify({ error: { code, message, data } }),
      ...(headers !== undefined && { headers }),
    },
    failure: error,
  }
}

const REFUSALS: Readonly<Record<number, ErrorName>> = {
  401: 'landerUnauthorized',
  403: 'landerForbidden',
}

/** What a lander refused with a status, and words that are no JSON-RPC error. */
const refusedReply = ({ status, words }: NonNullable<EngineAnswer['engine']>): SubmissionReply => {
  const name = REFUSALS[status]
  // A 401 is about the service's credential, so nothing of it is passed on.
  if (status === 401) return sendError(new RpcError('landerUnauthorized'))
  const data = { body: words }
  const error =
    name === 'landerForbidden'
      ? new RpcError(name, undefined, data)
      : new RpcError('landerRefused', { status }, data)
  const message = words === '' ? `HTTP ${status}` : `HTTP ${status}: ${words}`
  return { ...sendError(error), failure: { code: status, message } }
}

/** The reply to `/send`, or the error of a transaction of which nothing is known. */
export const toSendReply = (
  { outcome, error, engine }: EngineAnswer,
  signature: string,
): SubmissionReply | RpcError => {
  switch (outcome) {
    case 'accepted':
      return { reply: { status: 200, contentType: 'text/plain', body: signature } }
    case 'refused':
      if (error === null) return engine === null ? FAILURES['no-response'] : refusedReply(engine)
      return {
        reply: { status: 400, contentType: JSON_TYPE, body: `{"error":${error}}` },
        failure: failureOfStored(error),
      }
    case 'full':
      if (engine === null) return FAILURES.full
      return {
        ...sendError(new RpcError('landerFull')),
        failure: { code: engine.status, message: `HTTP ${engine.status}: ${engine.words}` },
      }
    case 'unreachable':
      return FAILURES.unreachable
    default:
      return FAILURES['no-response']
  }
}
