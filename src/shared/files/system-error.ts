import { getSystemErrorMap } from 'node:util'

const isSystemError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && 'code' in error && 'errno' in error && 'syscall' in error

/** What the system says of an error, without its code and the name of a system call. */
export const describeSystemError = ({ code, errno }: NodeJS.ErrnoException): string =>
  (errno === undefined ? undefined : getSystemErrorMap().get(errno)?.[1]) ?? String(code)

/**
 * The message of an error for an operator: one of the system is a sentence about its path, in place
 * of a code and the name of a system call.
 */
export const explainError = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  if (!isSystemError(error) || error.path === undefined) return error.message
  return error.code === 'ENOENT'
    ? `${error.path} does not exist`
    : `${error.path}: ${describeSystemError(error)}`
}
