import { RpcError } from '../shared/errors.js'
import type { Reads, ReplyBytes } from '../native/reads.js'
import type { JsonSchema } from './schemas.js'
import { checkParamCount, isAbsent, toMap, type Members } from '../shared/values.js'

const ANYTHING: JsonSchema = {}

/** One positional parameter: its name in the documentation, and what proves a value. */
export type Param<T> = {
  readonly name: string
  readonly isRequired: boolean
  /** Schema of a valid value, for the OpenRPC document. */
  readonly schema: JsonSchema
  /** True for a list of addresses of any length, which may be given as `PackedAddresses`. */
  readonly isLongList?: boolean
  /** Throws an RpcError where the value, `undefined` for an absent one, is not right. */
  check(value: unknown, index: number): T
}

/** A parameter that must be given. */
export const required = <T>(
  name: string,
  check: Param<T>['check'],
  schema: JsonSchema = ANYTHING,
): Param<T> => ({
  name,
  isRequired: true,
  schema,
  check(value, index) {
    if (value === undefined) throw new RpcError('missingParam', { index })
    return check(value, index)
  },
})

const NO_MEMBERS: Members = {}

/**
 * A parameter that is an object or absent; `check` sees the absent one as an object without
 * members.
 */
export const optional = <T>(
  name: string,
  check: (members: Members, index: number) => T,
  schema: JsonSchema = ANYTHING,
): Param<T> => ({
  name,
  isRequired: false,
  schema,
  check: (value, index) => check(isAbsent(value) ? NO_MEMBERS : toMap(value, index), index),
})

/**
 * What ends a call that takes long: `readTimeoutMs` for five reads (contract: read-timeout), the
 * read budget of the native addon for a page.
 */
export type Bound = 'timeout' | 'budget' | 'none'

/** What methods read: the index, and the state of this node. */
export type MethodContext = Reads & {
  /** False where the tip has not moved for too long; absent, it is not known to. */
  isHealthy?(): boolean
  /** True where the index may lack accounts. */
  isIncomplete?(): boolean
  /** True where the feed has been silent for longer than a blockhash lives. */
  areBlockhashesExpired?(): boolean
}

/** A JSON-RPC method whose parameters are checked when it is called. */
export type Method = {
  readonly name: string
  /** One sentence for the documentation. */
  readonly summary: string
  readonly bound: Bound
  readonly params: readonly Param<unknown>[]
  /** Schema of a result, for the OpenRPC document. */
  readonly result: JsonSchema
  call(context: MethodContext, params: readonly unknown[]): ReplyBytes | Promise<ReplyBytes>
}

type Checked<P extends readonly Param<unknown>[]> = {
  [I in keyof P]: P[I] extends Param<infer T> ? T : never
}

/** Declares a method: `run` gets the checked parameters, in order and typed. */
export const method = <const P extends readonly Param<unknown>[]>(spec: {
  readonly name: string
  readonly summary: string
  readonly bound: Bound
  readonly params: P
  readonly result?: JsonSchema
  run(context: MethodContext, ...params: Checked<P>): ReplyBytes | Promise<ReplyBytes>
}): Method => {
  const { name, summary, bound, params, result = ANYTHING } = spec
  const min = params.filter(param => param.isRequired).length
  const max = params.length
  const call: Method['call'] = (context, values) => {
    // Agave checks the count first, too. A missing parameter is reported by its index instead.
    checkParamCount(values, { min, max })
    return spec.run(context, ...(params.map((param, i) => param.check(values[i], i)) as Checked<P>))
  }
  return { name, summary, bound, params, result, call }
}
