import { SealingKeyError } from '../../access/tokens/sealing.js'
import { ERRORS, RpcError, type ErrorName, type Row } from '../../shared/errors.js'
import { isMap } from '../../shared/values.js'
import type { Answer } from './route.js'

const toAnswer = (name: ErrorName, message: string, status: number): Answer => {
  const row: Row = ERRORS[name]
  return { status, body: { error: { code: name, message } }, headers: row.headers ?? {} }
}

/** 429 that says when: in the message, and in `Retry-After`. */
const toRetry = ({ name, message, data }: RpcError, seconds: number): Answer => ({
  status: 429,
  body: { error: { code: name, message, data } },
  headers: { 'Retry-After': String(seconds) },
})

/** Throws if a rate limit is exceeded for these seconds. */
export const checkRate = (seconds: number): void => {
  if (seconds > 0)
    throw new RpcError('tooManyAttempts', { seconds }, { retryAfterSeconds: seconds })
}

/** 404 of a token that is gone, on which machines, and since when. */
const toGone = ({ name, message, data }: RpcError): Answer => ({
  status: ERRORS.noToken.status,
  body: { error: { code: name, message }, effect: data },
})

/** The answer for a thrown error. Only the messages of RpcErrors are shown. */
export const toFailure = (error: unknown): Answer => {
  if (error instanceof RpcError && error.name === 'tooManyAttempts' && isMap(error.data))
    return toRetry(error, Number(error.data['retryAfterSeconds']))
  if (error instanceof RpcError && error.name === 'noToken' && isMap(error.data))
    return toGone(error)
  if (error instanceof RpcError && error.row.status !== undefined)
    return toAnswer(error.name, error.message, error.row.status)
  // Its message contains paths of this machine, which are only for the log.
  if (error instanceof SealingKeyError)
    return toAnswer('sealingKey', ERRORS.sealingKey.message, ERRORS.sealingKey.status)
  return toAnswer('failed', ERRORS.failed.message, ERRORS.failed.status)
}
