import { RpcError, type ErrorName } from '../shared/errors.js'
import type { Body, Reply } from '../shared/http.js'
import {
  formatError,
  isBatch,
  isRefusal,
  parseMessage,
  type Call,
  type Id,
  type Refusal,
} from '../shared/jsonrpc.js'
import type { Reads } from '../shared/native.js'
import { runBatch } from './batch.js'
import { joinBody } from './join-body.js'
import type { Method, View } from './method.js'
import type { Options } from './options.js'
import { encodeResult, toParts, type Outcome } from './outcome.js'
import { METHODS } from './registry.js'
import { within } from './within.js'

/** What a dispatcher works with. */
export type Modules = {
  readonly reads: Reads
  /** Whether the index keeps up with the chain: what `getHealth` says. */
  readonly isHealthy?: () => boolean
  readonly methods?: ReadonlyMap<string, Method>
  /**
   * Told of every call that is answered: its method (`unknown` for no method of ours, `none` for no
   * call) and its end.
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
   * Asked where a message is not one call: how many it holds that count, and how many of them run at a time. A
   * reply refuses them all.
   */
  widen?(calls: number, atOnce: number): Reply | undefined
  /** Told of every call that failed. */
  onFailure?(): void
}

/** Answers whole messages. */
export type Dispatch = {
  /**
   * Never throws, never rejects, and answers at once wherever nothing waits. `body` is not kept. A
   * reply at once is valid until the next call of `handle`, as `Body` says.
   */
  handle(body: Uint8Array, origin: Origin): Reply | Promise<Reply>
}

const INTERNAL = new RpcError('internal')
const METHOD_NOT_FOUND = new RpcError('methodNotFound')
const PARAMS_NOT_ARRAY = new RpcError('paramsNotArray')

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
  { reads, isHealthy, methods = METHODS, onCall, onFault, now }: Modules,
): Dispatch => {
  const view: View = isHealthy === undefined ? reads : { ...reads, isHealthy }
  const scratch = Buffer.allocUnsafe(options.scratchBytes)

  const toError = (thrown: unknown, method: string, origin: Origin): RpcError => {
    // A row without a code is a plain HTTP failure, and no method's to throw.
    if (thrown instanceof RpcError && thrown.row.code !== undefined) return thrown
    onFault(thrown, method, origin)
    return INTERNAL
  }

  const end = (method: Method, origin: Origin, startMs: number, outcome: Outcome): Outcome => {
    const isFailure = outcome instanceof RpcError
    if (isFailure) origin.onFailure?.()
    onCall(method.name, isFailure ? outcome.name : 'ok', now() - startMs)
    return outcome
  }

  const answer = (call: Call, origin: Origin, waitMs: number): Outcome | Promise<Outcome> => {
    const method = methods.get(call.method)
    if (method === undefined) return refuse('unknown', METHOD_NOT_FOUND, origin)
    const startMs = now()
    try {
      if (!Array.isArray(call.params)) return end(method, origin, startMs, PARAMS_NOT_ARRAY)
      const result = method.call(view, call.params)
      if (!(result instanceof Promise)) return end(method, origin, startMs, result)
      const settled = method.bound === 'timeout' ? within(waitMs, result) : result
      return settled.then(
        bytes => end(method, origin, startMs, bytes),
        (thrown: unknown) => end(method, origin, startMs, toError(thrown, method.name, origin)),
      )
    } catch (thrown) {
      return end(method, origin, startMs, toError(thrown, method.name, origin))
    }
  }

  const refuse = (method: 'unknown' | 'none', error: RpcError, origin: Origin): RpcError => {
    origin.onFailure?.()
    onCall(method, error.name, 0)
    return error
  }

  const handleSingle = (call: Call | Refusal, origin: Origin): Reply | Promise<Reply> => {
    const { id } = call
    if (isPing(call)) origin.widen?.(0, 1)
    if (id === undefined) return jsonReply('')
    if (isRefusal(call)) return toReply(id, refuse('none', call.error, origin))
    const outcome = answer(call, origin, options.readTimeoutMs)
    // After a wait others may have used the scratch buffer, and may again before this reply is
    // written.
    return outcome instanceof Promise
      ? outcome.then(settled => toReply(id, settled))
      : toReply(id, outcome, scratch)
  }

  const handleBatch = (calls: readonly (Call | Refusal)[], origin: Origin) => {
    if (origin.widen !== undefined) {
      const count = calls.reduce((sum, call) => sum + (isPing(call) ? 0 : 1), 0)
      const refused = origin.widen(count, Math.max(1, Math.min(count, options.batchWaitingMax)))
      if (refused !== undefined) return refused
    }
    const endMs = now() + options.readTimeoutMs
    for (const call of calls) if (isRefusal(call)) refuse('none', call.error, origin)
    const body = runBatch(calls, call => answer(call, origin, Math.max(0, endMs - now())), options)
    return body instanceof Promise ? body.then(jsonReply) : jsonReply(body)
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
      return isBatch(message) ? handleBatch(message, origin) : handleSingle(message, origin)
    },
  }
}

/** A whole reply; one that streams where the result does. */
const toReply = (id: Id, outcome: Outcome, scratch?: Buffer): Reply => {
  if (outcome instanceof Uint8Array) return jsonReply(encodeResult(id, outcome, scratch))
  if (!(outcome instanceof RpcError)) return jsonReply(joinBody(toParts(id, outcome)))
  const { headers } = outcome.row
  const reply = jsonReply(formatError(id, outcome))
  return headers === undefined ? reply : { ...reply, headers }
}
