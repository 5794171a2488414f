import { RpcError } from '../shared/errors.js'
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
import { runBatch } from './batch.js'
import type { CallContext } from './call-context.js'
import { CallRunner, type CallModules } from './call-runner.js'
import { joinBody } from './join-body.js'
import type { Options } from './options.js'
import { encodeResult, RawReply, toParts, type Outcome } from './outcome.js'
import { rawElements } from './raw-elements.js'
import { METHODS } from './registry.js'

/** What a dispatcher works with. */
export type DispatchModules = Omit<CallModules, 'methods'> & Partial<Pick<CallModules, 'methods'>>

/** Answers whole messages: single calls and batches. */
export type Dispatch = {
  /**
   * Never throws or rejects; synchronous where nothing has to be awaited. `body` is not kept. A
   * synchronous reply is valid until the next call of `handle`, as `Body` says.
   */
  handle(body: Uint8Array, context: CallContext): Reply | Promise<Reply>
  /** Answers every call of a message with one error; empty where no call has an id. */
  refuse(body: Uint8Array, error: RpcError, context: CallContext): string
}

const NO_BYTES = new Uint8Array(0)

// web3.js sends it every 5 s to keep a connection open. It is never answered and never charged.
const isPing = (call: Call | Refusal): boolean =>
  call.id === undefined && !isRefusal(call) && call.method === 'ping'

const jsonReply = (body: Body): Reply => ({
  status: 200,
  contentType: 'application/json; charset=utf-8',
  body,
})

/** A reply in memory, or a streamed one where the result is a source. */
const toReply = (id: Id, outcome: Outcome, scratch?: Buffer): Reply => {
  if (outcome instanceof Uint8Array) return jsonReply(encodeResult(id, outcome, scratch))
  if (outcome instanceof RawReply) return jsonReply(outcome.bytes)
  if (!(outcome instanceof RpcError)) return jsonReply(joinBody(toParts(id, outcome)))
  const { headers } = outcome.row
  const reply = jsonReply(formatError(id, outcome))
  return headers === undefined ? reply : { ...reply, headers }
}

class Dispatcher implements Dispatch {
  private readonly options: Options
  private readonly modules: CallModules
  private readonly runner: CallRunner
  private readonly scratch: Buffer

  constructor(options: Options, modules: CallModules) {
    this.options = options
    this.modules = modules
    this.runner = new CallRunner(modules)
    this.scratch = Buffer.allocUnsafe(options.scratchBytes)
  }

  handle(body: Uint8Array, context: CallContext): Reply | Promise<Reply> {
    const reply = this.options.fastLane ? this.handleFast(body, context) : undefined
    if (reply !== undefined) return reply
    const message = parseMessage(body, this.options)
    return isBatch(message)
      ? this.handleBatch(message, body, context)
      : this.handleSingle(message, body, context)
  }

  refuse(body: Uint8Array, error: RpcError, context: CallContext): string {
    const message = parseMessage(body, this.options)
    if (isBatch(message)) return this.refuseAll(message, error, context)
    return message.id === undefined ? '' : this.refuseOne(message, message.id, error, context)
  }

  /** Canonical point reads, which the native addon answers without a parsed message. */
  private handleFast(body: Uint8Array, context: CallContext): Reply | undefined {
    const { reads, onCall, onFault, now } = this.modules
    const startMs = now()
    try {
      const reply = reads.fast(body)
      if (reply === undefined) return undefined
      onCall(reply.method, 'ok', now() - startMs)
      return jsonReply(reply.bytes)
    } catch (fault) {
      onFault(fault, 'fast lane', context)
      return undefined
    }
  }

  private handleSingle(
    call: Call | Refusal,
    body: Uint8Array,
    context: CallContext,
  ): Reply | Promise<Reply> {
    const { id } = call
    if (isPing(call)) context.acquireBatch?.(0, 1)
    if (id === undefined) return jsonReply('')
    if (isRefusal(call)) return toReply(id, this.runner.refuse('none', call.error, context))
    // Copied: a forwarded call needs the body after this tick.
    const bytes = (): Uint8Array => Buffer.from(body)
    const { readTimeoutMs: waitMs } = this.options
    const outcome = this.runner.run(call, context, { bytes, waitMs })
    // The scratch buffer is shared, so a reply that was awaited gets memory of its own.
    return outcome instanceof Promise
      ? outcome.then(settled => toReply(id, settled))
      : toReply(id, outcome, this.scratch)
  }

  private handleBatch(
    calls: readonly (Call | Refusal)[],
    body: Uint8Array,
    context: CallContext,
  ): Reply | Promise<Reply> {
    const { options, runner } = this
    const { now } = this.modules
    const refused = this.acquireBatch(calls, context)
    if (refused !== undefined) return refused
    const endMs = now() + options.readTimeoutMs
    for (const call of calls) if (isRefusal(call)) runner.refuse('none', call.error, context)
    // Copied: later calls of a batch run after this tick.
    const mayForward = calls.some(call => runner.mayForward(call))
    const elements = mayForward ? rawElements(Buffer.from(body)) : []
    const run = (call: Call, index: number): Outcome | Promise<Outcome> => {
      const bytes = (): Uint8Array => elements[index] ?? NO_BYTES
      return runner.run(call, context, { bytes, waitMs: Math.max(0, endMs - now()) })
    }
    const joined = runBatch(calls, run, options)
    return joined instanceof Promise ? joined.then(jsonReply) : jsonReply(joined)
  }

  /** Charges a batch to its access. Returns the reply where it is over a limit. */
  private acquireBatch(
    calls: readonly (Call | Refusal)[],
    context: CallContext,
  ): Reply | undefined {
    if (context.acquireBatch === undefined) return undefined
    const count = calls.reduce((sum, call) => sum + (isPing(call) ? 0 : 1), 0)
    const atOnce = Math.max(1, Math.min(count, this.options.batchWaitingMax))
    const refused = context.acquireBatch(count, atOnce)
    return refused instanceof RpcError
      ? jsonReply(this.refuseAll(calls, refused, context))
      : refused
  }

  private refuseAll(
    calls: readonly (Call | Refusal)[],
    error: RpcError,
    context: CallContext,
  ): string {
    const replies: string[] = []
    for (const call of calls)
      if (call.id !== undefined) replies.push(this.refuseOne(call, call.id, error, context))
    return replies.length === 0 ? '' : `[${replies.join(',')}]`
  }

  private refuseOne(call: Call | Refusal, id: Id, error: RpcError, context: CallContext): string {
    const answer = isRefusal(call) ? call.error : error
    this.runner.refuse('none', answer, context)
    return formatError(id, answer)
  }
}

/** The JSON-RPC methods of one network on one edge. */
export const createDispatch = (options: Options, modules: DispatchModules): Dispatch =>
  new Dispatcher(options, { methods: METHODS, ...modules })
