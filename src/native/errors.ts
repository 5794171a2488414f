import type { Failure } from '#native'
import { ERRORS, RpcError, type ErrorName } from '../shared/errors.js'

const isErrorName = (name: unknown): name is ErrorName =>
  typeof name === 'string' && Object.hasOwn(ERRORS, name)

/** A native failure that is not sent to clients: for the operator, or a bug. */
export class NativeError extends Error {
  readonly code: string
  /** The fields of its code, such as the slots of `notNextBlock`. */
  readonly fields: Omit<Failure, 'code' | 'reason'>
  constructor(code: string, reason: string | undefined, fields: NativeError['fields'] = {}) {
    super(reason ?? code)
    this.code = code
    this.fields = fields
  }
}

/** Converts a failure of the addon to an error. `limit` is the page size of a read. */
export const toFailure = (failure: Failure, limit?: number): Error => {
  const { code, reason, ...fields } = failure
  if (code === 'internal' || !isErrorName(code)) return new NativeError(code, reason, fields)
  const { encoding, scanned, value } = fields
  if (code === 'readBudget') return new RpcError(code, undefined, { limit, scanned })
  // The number of slots is unknown, as in getHealth.
  if (code === 'nodeUnhealthy') return new RpcError(code, undefined, { numSlotsBehind: null })
  if (code === 'pubkeyDecode' && value !== undefined) return new RpcError(code, { value })
  if (code === 'memcmpBytes' && encoding !== undefined) return new RpcError(code, { encoding })
  // The addon returns no other row with fields: a test compares its codes with these rows.
  if (ERRORS[code].message.includes('{')) return new NativeError(code, reason, fields)
  return new RpcError(code as 'internal')
}

/** Runs a native call; converts its exceptions to an RpcError or a NativeError. */
export const callNative = <T>(run: () => T): T => {
  try {
    return run()
  } catch (error) {
    throw rethrown(error)
  }
}

/** A failure as the addon throws it: JSON in the message of an error with the same code. */
const thrownFailure = (error: Error & { readonly code: string }): Failure => {
  try {
    const failure: unknown = JSON.parse(error.message)
    if (isFailure(failure, error.code)) return failure
  } catch {
    // An error of Node-API itself: its message is a text.
  }
  return { code: error.code, reason: error.message }
}

const isFailure = (value: unknown, code: string): value is Failure =>
  typeof value === 'object' && value !== null && 'code' in value && value.code === code

const hasCode = (error: unknown): error is Error & { readonly code: string } =>
  error instanceof Error && 'code' in error && typeof error.code === 'string'

const rethrown = (error: unknown): unknown =>
  hasCode(error) ? toFailure(thrownFailure(error)) : error
