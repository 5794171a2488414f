import { RpcError, type ErrorName } from '../shared/errors.js'
import type { Owner, Reads, ReplyBytes, TipGroup } from '../native/reads.js'
import type {
  Example,
  MethodDescription,
  ParamDescription,
} from '../shared/describe/method-description.js'
import type { JsonSchema } from '../shared/describe/schemas.js'
import { checkParamCount, isAbsent, toMap, type Members } from '../shared/values.js'

const ANYTHING: JsonSchema = {}

/** One positional parameter: its description, and what proves a value. */
export type Param<T> = ParamDescription & {
  /** Errors of an invalid value. */
  readonly errors: readonly ErrorName[]
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
  errors: readonly ErrorName[] = [],
): Param<T> => ({
  name,
  isRequired: true,
  schema,
  errors: ['missingParam', 'wrongType', ...errors],
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
  errors: readonly ErrorName[] = [],
): Param<T> => ({
  name,
  isRequired: false,
  schema,
  errors: ['wrongType', ...errors],
  check: (value, index) => check(isAbsent(value) ? NO_MEMBERS : toMap(value, index), index),
})

/**
 * What ends a call that takes long: `readTimeoutMs` for five reads (contract: read-timeout), the
 * read budget of the native addon for a page.
 */
export type Bound = 'timeout' | 'budget' | 'none'

/** Reads of what accesses have submitted to one network. They throw or reject with RpcErrors. */
export type SubmissionReads = {
  /** A submission by its id, or the newest one with a signature, as JSON; `null` where none is. */
  find(accessId: string, key: string): Promise<Uint8Array>
  /** A page of them, as JSON. */
  list(accessId: string, options: Members): Promise<Uint8Array>
  /** What became of them by lane and tip, as JSON. */
  performance(accessId: string, options: Members): Promise<Uint8Array>
}

/** The state of this node, and what else it serves. */
export type NodeState = {
  /** False if the tip has not moved for too long; absent, it is not known to. */
  readonly isHealthy?: (() => boolean) | undefined
  /** True if the index may lack accounts, so that reads may have to be forwarded. */
  readonly isIncomplete?: (() => boolean) | undefined
  /** True if the feed has been silent for longer than a blockhash lives. */
  readonly areBlockhashesExpired?: (() => boolean) | undefined
  /** The version of this service. */
  readonly version?: string | undefined
  /** The tip accounts of the network's senders. */
  readonly tipGroups?: readonly TipGroup[] | undefined
  /** Undefined where nothing can be submitted. */
  readonly submissions?: SubmissionReads | undefined
  /** Methods that are served beside those of the table, for `rpc.discover`. */
  readonly otherMethods?: readonly MethodDescription[] | undefined
}

/** What methods read: the index, and the state of this node. */
export type MethodContext = Reads &
  NodeState & {
    /** Whose call it is. */
    readonly owner?: Owner
  }

/** A JSON-RPC method whose parameters are checked when it is called. */
export type Method = MethodDescription & {
  readonly bound: Bound
  /** The upstream RPC, if it takes the method, answers a call that fails with this error. */
  readonly forwardedOn?: ErrorName | undefined
  readonly params: readonly Param<unknown>[]
  /** Checks the parameters once, for any number of calls. */
  prepare(params: readonly unknown[]): (context: MethodContext) => ReplyBytes | Promise<ReplyBytes>
  call(context: MethodContext, params: readonly unknown[]): ReplyBytes | Promise<ReplyBytes>
}

/** Errors of every read of the index, and those that come with a bound. */
const INDEX_ERRORS = ['noIndex', 'outsideScope', 'indexIncomplete'] as const
const BOUND_ERRORS = {
  timeout: [...INDEX_ERRORS, 'readTimeout', 'overloaded'],
  budget: [...INDEX_ERRORS, 'readBudget', 'overloaded'],
  none: [],
} as const

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
  readonly forwardedOn?: ErrorName
  /** Errors beside those of its parameters and its bound. */
  readonly errors?: readonly ErrorName[]
  readonly example?: Example
  run(context: MethodContext, ...params: Checked<P>): ReplyBytes | Promise<ReplyBytes>
}): Method => {
  const { name, summary, bound, params, result = ANYTHING, example, forwardedOn } = spec
  const min = params.filter(param => param.isRequired).length
  const max = params.length
  const prepare: Method['prepare'] = values => {
    // Agave checks the count first, too. A missing parameter is reported by its index instead.
    checkParamCount(values, { min, max })
    const checked = params.map((param, i) => param.check(values[i], i)) as Checked<P>
    return context => spec.run(context, ...checked)
  }
  const call: Method['call'] = (context, values) => prepare(values)(context)
  const errors = [
    ...new Set<ErrorName>([
      'paramsNotArray',
      max === 0 ? 'noParams' : 'paramCount',
      ...params.flatMap(param => param.errors),
      ...(spec.errors ?? []),
      ...(forwardedOn === undefined ? [] : [forwardedOn]),
      ...BOUND_ERRORS[bound],
    ]),
  ]
  return { name, summary, bound, params, result, errors, example, forwardedOn, prepare, call }
}
