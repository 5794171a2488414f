import type { ErrorName } from '../errors.js'
import type { JsonSchema } from './schemas.js'

/** One positional parameter. */
export type ParamDescription = {
  readonly name: string
  readonly isRequired: boolean
  /** Schema of a valid value. */
  readonly schema: JsonSchema
}

/** A call and what it is answered. An integer that a number cannot hold is a bigint. */
export type Example = { readonly params: readonly unknown[]; readonly result: unknown }

/** A JSON-RPC method as documents describe it, from which clients are made. */
export type MethodDescription = {
  readonly name: string
  /** One sentence. */
  readonly summary: string
  readonly params: readonly ParamDescription[]
  readonly result: JsonSchema
  /** Every error that it may have, but for those of every call. */
  readonly errors: readonly ErrorName[]
  /** It is run by a test. */
  readonly example?: Example | undefined
  /** Only a WebSocket has it. */
  readonly isSocketOnly?: boolean
  /** What a subscription sends: the method, and its `params.result`. */
  readonly notification?: { readonly method: string; readonly result: JsonSchema }
}
