import { ERRORS, RpcError, type ErrorName } from '../shared/errors.js'

const isErrorName = (name: unknown): name is ErrorName =>
  typeof name === 'string' && Object.hasOwn(ERRORS, name)

/** A kernel failure that is not sent to clients: for the operator, or a bug. */
export class NativeError extends Error {
  readonly code: string
  constructor(code: string, detail: string) {
    super(detail === '' ? code : detail)
    this.code = code
  }
}

/** Converts the kernel's `name` and `detail` to an error. */
export const toFailure = (name: string, detail: string, limit?: number): Error => {
  if (name === 'internal' || !isErrorName(name)) return new NativeError(name, detail)
  if (name === 'readBudget')
    return new RpcError(name, undefined, { limit, scanned: Number(detail) })
  if (name === 'pubkeyDecode') return new RpcError(name, { value: detail })
  if (name === 'memcmpBytes') return new RpcError(name, { encoding: detail })
  const { message } = ERRORS[name]
  // The kernel cannot return a row with other fields: a test compares its names with these rows.
  if (/\{\w+\}/.test(message)) return new NativeError(name, detail)
  return new RpcError(name as 'internal')
}

/** Runs a native call; converts its exceptions to an RpcError or a NativeError. */
export const callNative = <T>(run: () => T): T => {
  try {
    return run()
  } catch (error) {
    throw rethrown(error)
  }
}

const rethrown = (error: unknown): unknown =>
  error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? toFailure(error.code, error.message)
    : error
