import { RpcError, type ErrorName } from '../shared/errors.js'
import type { Body, BodySource, Reply } from '../shared/http.js'
import {
  formatError,
  isBatch,
  isRefusal,
  parseMessage,
  type Call,
  type Id,
  type Refusal,
} from '../shared/jsonrpc.js'
import type { ReplyBytes, Reads } from '../native/reads.js'
import { SOCKET_METHODS } from '../shared/socket.js'
import { runBatch } from './batch.js'
import type { Forward } from './forward.js'
import { joinBody } from './join-body.js'
import type { Method, View } from './method.js'
import type { Options } from './options.js'
import { encodeResult, toParts, WholeReply, type Outcome } from './outcome.js'
import { rawElements } from './raw-elements.js'
import { METHODS } from './registry.js'
import { within } from './with-timeout.js'

/** What a dispatcher works with. */
export type Modules = {
  readonly reads: Reads
  /** Whether the index keeps up with the chain: what `getHealth` says. */
  readonly isHealthy?: () => boolean
  readonly methods?: ReadonlyMap<string, Method>
  /** Who answers what is no method of ours; absent, nobody does. */
  readonly forward?: Forward | undefined
  /**
   * Told of every call that is answered: its method (`forwarded` for what another answered,
   * `unknown` for no method at all, `none` for no call) and its end. An error that came from the
   * upstream is an answer.
   */
  readonly onCall: (method: string, outcome: 'ok' | ErrorName, elapsedMs: number) => void
  /** Told what was thrown that no client may hear about. */
  readonly onFault: (fault: unknown, method: string, origin: Origin) => void
  readonly now: () => number
}

/** Where a message comes from, for its log lines: read only when there is something to log. */
export type Origin = {
  /** Of the request. */
  readonly id: string
  /** Public name of the token; never the token. */
  readonly tokenId?: string
  /**
   * Asked where a message is not one call: how many it holds that count, and how many of them run
   * at a time. A reply refuses them all, an error each of them.
   */
  acquireBatch?(calls: number, atOnce: number): Reply | RpcError | undefined
  /** Told of every call that failed. */
  onFailure?(): void
  /**
   * Result of a method that only the connection has, or throws or rejects `RpcError`; undefined
   * where it has no such method.
   */
  own?(method: string, params: unknown): Uint8Array | Promise<Uint8Array> | undefined
  /**
   * Given where a reply must be whole before it is sent: reads a result to its end, and closes it.
   */
  collect?(source: BodySource): Promise<Uint8Array>
}

/** Answers whole messages. */
export type Dispatch = {
  /**
   * Never throws, never rejects, and answers at once wherever nothing waits. `body` is not kept. A
   * reply at once is valid until the next call of `handle`, as `Body` says.
   */
  handle(body: Uint8Array, origin: Origin): Reply | Promise<Reply>
  /** Answers every call of a message with one error; empty where none has an id. */
  refuse(body: Uint8Array, error: RpcError, origin: Origin): string
}

const INTERNAL = new RpcError('internal')
const METHOD_NOT_FOUND = new RpcError('methodNotFound')
const NOTHING = new Uint8Array(0)
const PARAMS_NOT_ARRAY = new RpcError('paramsNotArray')

/** A call as it came, and how long its answer may take. */
type Waiting = { readonly raw: () => Uint8Array; readonly waitMs: number }

// What web3.js sends every 5 s to keep a connection: it is never answered, and counts for nothing.
const isPing = (call: Call | Refusal): boolean =>
  call.id === undefined && !isRefusal(call) && call.method === 'ping'

const jsonReply = (body: Body): Reply => ({
  status: 200,
  contentType: 'application/json; charset=utf-8',
  body,
})

/** The JSON-RPC side of one edge over one indexed view. */
export const createDispatch = (
  options: Options,
  { reads, isHealthy, methods = METHODS, forward, onCall, onFault, now }: Modules,
): Dispatch => {
  const view: View = isHealthy === undefined ? reads : { ...reads, isHealthy }
  const scratch = Buffer.allocUnsafe(options.scratchBytes)

  const toError = (thrown: unknown, method: string, origin: Origin): RpcError => {
    // A row without a code is a plain HTTP failure, and no method's to throw.
    if (thrown instanceof RpcError && thrown.row.code !== undefined) return thrown
    onFault(thrown, method, origin)
    return INTERNAL
  }

  const end = (method: string, origin: Origin, startMs: number, outcome: Outcome): Outcome => {
    const isFailure = outcome instanceof RpcError
    if (isFailure) origin.onFailure?.()
    onCall(method, isFailure ? outcome.name : 'ok', now() - startMs)
    return outcome
  }

  /** What the upstream answers. */
  const pass = async (to: Forward, origin: Origin, { raw, waitMs }: Waiting): Promise<Outcome> => {
    const startMs = now()
    try {
      return end('forwarded', origin, startMs, await to.call(raw(), waitMs))
    } catch (thrown) {
      return end('forwarded', origin, startMs, toError(thrown, 'forwarded', origin))
    }
  }

  /** What the connection itself answers; over HTTP nothing does, and no upstream is asked. */
  const answerOwn = (call: Call, origin: Origin): Outcome | Promise<Outcome> => {
    const startMs = now()
    const fail = (thrown: unknown): Outcome =>
      end(call.method, origin, startMs, toError(thrown, call.method, origin))
    try {
      const result = origin.own?.(call.method, call.params)
      if (result === undefined) return refuse('unknown', METHOD_NOT_FOUND, origin)
      if (!(result instanceof Promise)) return end(call.method, origin, startMs, result)
      return result.then(bytes => end(call.method, origin, startMs, bytes), fail)
    } catch (thrown) {
      return fail(thrown)
    }
  }

  const answer = (call: Call, origin: Origin, waiting: Waiting): Outcome | Promise<Outcome> => {
    const method = methods.get(call.method)
    if (method === undefined) {
      if (SOCKET_METHODS.has(call.method)) return answerOwn(call, origin)
      if (forward?.takes(call.method) !== true) return refuse('unknown', METHOD_NOT_FOUND, origin)
      return pass(forward, origin, waiting)
    }
    const startMs = now()
    const fail = (thrown: unknown): Outcome | Promise<Outcome> => {
      const error = toError(thrown, method.name, origin)
      if (error.name === 'outsideScope' && forward?.takesOutsideScope === true)
        return pass(forward, origin, waiting)
      return end(method.name, origin, startMs, error)
    }
    try {
      if (!Array.isArray(call.params)) return end(method.name, origin, startMs, PARAMS_NOT_ARRAY)
      const result = method.call(view, call.params)
      if (result instanceof Uint8Array) return end(method.name, origin, startMs, result)
      if (!(result instanceof Promise)) {
        if (origin.collect === undefined) return end(method.name, origin, startMs, result)
        return origin.collect(result).then(bytes => end(method.name, origin, startMs, bytes), fail)
      }
      const settled = method.bound === 'timeout' ? within(waiting.waitMs, result) : result
      return settled
        .then(bytes => collected(bytes, origin))
        .then(bytes => end(method.name, origin, startMs, bytes), fail)
    } catch (thrown) {
      return fail(thrown)
    }
  }

  const refuse = (method: 'unknown' | 'none', error: RpcError, origin: Origin): RpcError => {
    origin.onFailure?.()
    onCall(method, error.name, 0)
    return error
  }

  const mayLeave = (call: Call | Refusal): boolean => {
    if (forward === undefined || isRefusal(call) || SOCKET_METHODS.has(call.method)) return false
    return methods.has(call.method) ? forward.takesOutsideScope : forward.takes(call.method)
  }

  const handleSingle = (
    call: Call | Refusal,
    body: Uint8Array,
    origin: Origin,
  ): Reply | Promise<Reply> => {
    const { id } = call
    if (isPing(call)) origin.acquireBatch?.(0, 1)
    if (id === undefined) return jsonReply('')
    if (isRefusal(call)) return toReply(id, refuse('none', call.error, origin))
    // Nobody keeps the body, but a forwarded call needs it for longer than this tick.
    const raw = (): Uint8Array => Buffer.from(body)
    const outcome = answer(call, origin, { raw, waitMs: options.readTimeoutMs })
    // After a wait others may have used the scratch buffer, and may again before this reply is
    // written.
    return outcome instanceof Promise
      ? outcome.then(settled => toReply(id, settled))
      : toReply(id, outcome, scratch)
  }

  const handleBatch = (
    calls: readonly (Call | Refusal)[],
    body: Uint8Array,
    origin: Origin,
  ): Reply | Promise<Reply> => {
    if (origin.acquireBatch !== undefined) {
      const count = calls.reduce((sum, call) => sum + (isPing(call) ? 0 : 1), 0)
      const refused = origin.acquireBatch(
        count,
        Math.max(1, Math.min(count, options.batchWaitingMax)),
      )
      if (refused instanceof RpcError) return jsonReply(refuseAll(calls, refused, origin))
      if (refused !== undefined) return refused
    }
    const endMs = now() + options.readTimeoutMs
    for (const call of calls) if (isRefusal(call)) refuse('none', call.error, origin)
    // Later calls of a batch run when the body is gone.
    const elements = calls.some(mayLeave) ? rawElements(Buffer.from(body)) : []
    const run = (call: Call, index: number): Outcome | Promise<Outcome> => {
      const raw = (): Uint8Array => elements[index] ?? NOTHING
      return answer(call, origin, { raw, waitMs: Math.max(0, endMs - now()) })
    }
    const joined = runBatch(calls, run, options)
    return joined instanceof Promise ? joined.then(jsonReply) : jsonReply(joined)
  }

  const refuseAll = (
    calls: readonly (Call | Refusal)[],
    error: RpcError,
    origin: Origin,
  ): string => {
    const replies: string[] = []
    for (const call of calls) {
      if (call.id === undefined) continue
      refuse('none', isRefusal(call) ? call.error : error, origin)
      replies.push(formatError(call.id, isRefusal(call) ? call.error : error))
    }
    return replies.length === 0 ? '' : `[${replies.join(',')}]`
  }

  const handleFast = (body: Uint8Array, origin: Origin): Reply | undefined => {
    const startMs = now()
    try {
      const reply = reads.fast(body)
      if (reply === undefined) return undefined
      onCall(reads.fastMethod(), 'ok', now() - startMs)
      return jsonReply(reply)
    } catch (fault) {
      // The ordinary way answers every method alone.
      onFault(fault, 'fast lane', origin)
      return undefined
    }
  }

  return {
    handle(body, origin) {
      const reply = options.fastLane ? handleFast(body, origin) : undefined
      if (reply !== undefined) return reply
      const message = parseMessage(body, options)
      return isBatch(message)
        ? handleBatch(message, body, origin)
        : handleSingle(message, body, origin)
    },
    refuse(body, error, origin) {
      const message = parseMessage(body, options)
      if (isBatch(message)) return refuseAll(message, error, origin)
      if (message.id === undefined) return ''
      const told = isRefusal(message) ? message.error : error
      refuse('none', told, origin)
      return formatError(message.id, told)
    },
  }
}

const collected = (result: ReplyBytes, origin: Origin): ReplyBytes | Promise<ReplyBytes> =>
  result instanceof Uint8Array || origin.collect === undefined ? result : origin.collect(result)

/** A whole reply; one that streams where the result does. */
const toReply = (id: Id, outcome: Outcome, scratch?: Buffer): Reply => {
  if (outcome instanceof Uint8Array) return jsonReply(encodeResult(id, outcome, scratch))
  if (outcome instanceof WholeReply) return jsonReply(outcome.bytes)
  if (!(outcome instanceof RpcError)) return jsonReply(joinBody(toParts(id, outcome)))
  const { headers } = outcome.row
  const reply = jsonReply(formatError(id, outcome))
  return headers === undefined ? reply : { ...reply, headers }
}
