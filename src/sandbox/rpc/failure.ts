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
