import { SealingKeyError } from '../../access/tokens/sealing.js'
import { ERRORS, RpcError, type ErrorName, type Row } from '../../shared/errors.js'
import type { Answer } from './route.js'

const toAnswer = (name: ErrorName, message: string, status: number): Answer => {
  const row: Row = ERRORS[name]
  return { status, body: { error: { code: name, message } }, headers: row.headers ?? {} }
}

/** What the API answers where something was thrown. What is no RpcError tells nothing of itself. */
export const toFailure = (error: unknown): Answer => {
  if (error instanceof RpcError && error.row.status !== undefined)
    return toAnswer(error.name, error.message, error.row.status)
  // Its own message names files of the machine: that is for the log.
  if (error instanceof SealingKeyError)
    return toAnswer('sealingKey', ERRORS.sealingKey.message, ERRORS.sealingKey.status)
  return toAnswer('failed', ERRORS.failed.message, ERRORS.failed.status)
}
