import { inspect } from 'node:util'

/** The error of an RPC method. */
export class RpcFailure extends Error {
  readonly code: number
  readonly data: unknown

  constructor(code: number, message: string, data?: unknown) {
    super(message)
    this.code = code
    this.data = data
  }
}

const INVALID_PARAMS = -32602

export const invalidParam = (message: string): RpcFailure => new RpcFailure(INVALID_PARAMS, message)

/** A parameter in the text of an error. Objects of clients have members named `toString`. */
export const quote = (value: unknown): string =>
  typeof value === 'string' ? value : inspect(value, { compact: true, breakLength: Infinity })
