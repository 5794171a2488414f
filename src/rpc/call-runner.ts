import type { ReplyBytes, Reads } from '../native/reads.js'
import { RpcError, type ErrorName } from '../shared/errors.js'
import { formatError, isRefusal, type Call, type Id, type Refusal } from '../shared/jsonrpc.js'
import type { CallContext, RunSubmission } from './call-context.js'
import type { Forward } from './forward.js'
import type { Method, MethodContext, NodeState } from './method.js'
import { errorOf, type Outcome } from './outcome.js'
import { withTimeout } from './with-timeout.js'

/** How a call ended: `upstreamError` with an error that the upstream answered. */
export type CallOutcome = 'ok' | 'upstreamError' | ErrorName

/** What calls run with. */
export type CallModules = NodeState & {
  readonly reads: Reads
  readonly methods: ReadonlyMap<string, Method>
  /** Methods that only a WebSocket has. Over HTTP they are unknown, and never forwarded. */
  readonly connectionMethods: ReadonlySet<string>
  /** Where methods that are not served here are sent; undefined if there is no upstream. */
  readonly forward?: Forward | undefined
  /**
   * Called for every answered call with its method (`forwarded` where the upstream answered,
   * `unknown` for no method, `none` for no call) and its outcome.
   */
  readonly onCall: (method: string, outcome: CallOutcome, elapsedMs: number) => void
  /** Called with what was thrown and must not reach a client. */
  readonly onFault: (fault: unknown, method: string, context: CallContext) => void
  readonly now: () => number
}

/** A call as received, and how long it may take. */
export type RawCall = { readonly bytes: () => Uint8Array; readonly waitMs: number }

/** A call that has been run. Metrics count it by its label, where that is not its name. */
type EndedCall = {
  readonly name: string
  readonly label?: string
  readonly context: CallContext
  readonly startMs: number
  readonly params: unknown
}

const INTERNAL = new RpcError('internal')
/** A submission is a message of its own. */
const NOT_SINGLE = new RpcError('invalidRequest')
const METHOD_NOT_FOUND = new RpcError('methodNotFound')
const PARAMS_NOT_ARRAY = new RpcError('paramsNotArray')

/**
 * Pages are never forwarded: nodes do not have them, and the next page of an upstream's might be
 * answered here, by an index of another slot.
 */
const isPage = ({ bound }: Method): boolean => bound === 'budget'

/** Runs single calls: served methods, those of the connection, and forwarded ones. */
export class CallRunner {
  private readonly modules: CallModules
  private readonly methodContext: MethodContext

  constructor(modules: CallModules) {
    const { reads, areBlockhashesExpired, isHealthy, isIncomplete, otherMethods } = modules
    const { submissions, tipGroups, version } = modules
    this.modules = modules
    const node = { areBlockhashesExpired, isHealthy, isIncomplete, otherMethods, version }
    this.methodContext = { ...reads, ...node, submissions, tipGroups }
  }

  /** Runs a call. Never throws or rejects; synchronous where nothing has to be awaited. */
  run(call: Call, context: CallContext, raw: RawCall): Outcome | Promise<Outcome> {
    const { methods, connectionMethods, forward } = this.modules
    const method = methods.get(call.method)
    if (method !== undefined) return this.runMethod(method, { call, context, raw })
    if (connectionMethods.has(call.method)) return this.runConnectionMethod(call, context)
    if (context.submissionOf?.(call.method) !== undefined)
      return this.refuse('none', NOT_SINGLE, context)
    if (forward?.takes(call.method) !== true)
      return this.refuse('unknown', METHOD_NOT_FOUND, context)
    return this.forward(forward, { call, context, raw })
  }

  /** Runs a submission, which counts itself; only a refusal before it is counted here. */
  async submit(
    run: RunSubmission,
    { id, body, context }: { readonly id: Id; readonly body: Uint8Array; context: CallContext },
  ): Promise<Uint8Array> {
    try {
      return await run(body, id)
    } catch (thrown) {
      const error = this.toError(thrown, 'submission', context)
      return Buffer.from(formatError(id, this.refuse('none', error, context)))
    }
  }

  /** Counts a call that is answered with an error without being run. */
  refuse(method: 'unknown' | 'none', error: RpcError, context: CallContext): RpcError {
    context.onCall?.({ outcome: error })
    this.modules.onCall(method, error.name, 0)
    return error
  }

  /** Whether the upstream may have to answer the call. */
  mayForward(call: Call | Refusal): boolean {
    const { methods, connectionMethods, forward, isIncomplete } = this.modules
    if (forward === undefined || isRefusal(call) || connectionMethods.has(call.method)) return false
    const method = methods.get(call.method)
    if (method === undefined) return forward.takes(call.method)
    if (method.forwardedOn !== undefined && forward.takes(call.method)) return true
    return !isPage(method) && (forward.takesOutsideScope || isIncomplete?.() === true)
  }

  /** The upstream that answers a read which the index cannot answer. */
  private forwardOf(error: RpcError, method: Method): Forward | undefined {
    if (isPage(method)) return undefined
    const { forward } = this.modules
    if (error.name === 'indexIncomplete') return forward
    if (error.name === method.forwardedOn)
      return forward?.takes(method.name) === true ? forward : undefined
    return error.name === 'outsideScope' && forward?.takesOutsideScope === true
      ? forward
      : undefined
  }

  private runMethod(
    method: Method,
    { call, context, raw }: { call: Call; context: CallContext; raw: RawCall },
  ): Outcome | Promise<Outcome> {
    const { name } = method
    const startMs = this.modules.now()
    const { params } = call
    const end = (outcome: Outcome): Outcome => this.end({ name, context, startMs, params }, outcome)
    const fail = (thrown: unknown): Outcome | Promise<Outcome> => {
      const error = this.toError(thrown, name, context)
      const forward = this.forwardOf(error, method)
      return forward === undefined ? end(error) : this.forward(forward, { call, context, raw })
    }
    try {
      if (!Array.isArray(call.params)) return end(PARAMS_NOT_ARRAY)
      const { owner } = context
      const result = method.call({ ...this.methodContext, owner }, call.params)
      if (result instanceof Uint8Array) return end(result)
      if (!(result instanceof Promise)) {
        if (context.collect === undefined) return end(result)
        return context.collect(result).then(end, fail)
      }
      const settled = method.bound === 'timeout' ? withTimeout(raw.waitMs, result) : result
      return settled.then(bytes => collect(bytes, context)).then(end, fail)
    } catch (thrown) {
      return fail(thrown)
    }
  }

  private runConnectionMethod(
    { method, params }: Call,
    context: CallContext,
  ): Outcome | Promise<Outcome> {
    const startMs = this.modules.now()
    const ended = { name: method, context, startMs, params }
    const end = (outcome: Outcome): Outcome => this.end(ended, outcome)
    const fail = (thrown: unknown): Outcome => end(this.toError(thrown, method, context))
    try {
      const result = context.callConnectionMethod?.(method, params)
      if (result === undefined) return this.refuse('unknown', METHOD_NOT_FOUND, context)
      return result instanceof Promise ? result.then(end, fail) : end(result)
    } catch (thrown) {
      return fail(thrown)
    }
  }

  private async forward(
    to: Forward,
    {
      call,
      context,
      raw: { bytes, waitMs },
    }: { readonly call: Call; readonly context: CallContext; readonly raw: RawCall },
  ): Promise<Outcome> {
    const ended = {
      name: call.method,
      label: 'forwarded',
      context,
      startMs: this.modules.now(),
      params: call.params,
    }
    try {
      return this.end(ended, await to.call(call.method, bytes(), waitMs))
    } catch (thrown) {
      return this.end(ended, this.toError(thrown, ended.label, context))
    }
  }

  private end(
    { name, label = name, context, startMs, params }: EndedCall,
    outcome: Outcome,
  ): Outcome {
    const { onCall, now } = this.modules
    const elapsedMs = now() - startMs
    context.onCall?.({ method: name, outcome, elapsedMs, params })
    const error = errorOf(outcome)
    const ending = error instanceof RpcError ? error.name : 'upstreamError'
    onCall(label, error === undefined ? 'ok' : ending, elapsedMs)
    return outcome
  }

  /** The error to answer with. What must not reach a client is reported, and `internal`. */
  toError(thrown: unknown, method: string, context: CallContext): RpcError {
    // An error without a code is a plain HTTP failure, which no method may throw.
    if (thrown instanceof RpcError && thrown.row.code !== undefined) return thrown
    this.modules.onFault(thrown, method, context)
    return INTERNAL
  }
}

const collect = (result: ReplyBytes, context: CallContext): ReplyBytes | Promise<ReplyBytes> =>
  result instanceof Uint8Array || context.collect === undefined ? result : context.collect(result)
