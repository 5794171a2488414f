import { RpcError } from '../shared/errors.js'
import { LoopTurn } from '../shared/event-loop/loop-turn.js'
import type { Body, Reply } from '../shared/http.js'
import {
  formatError,
  isBatch,
  isRefusal,
  parseScanned,
  scanMessage,
  unparsedId,
  type Call,
  type Id,
  type Message,
  type Refusal,
  type ScannedMessage,
} from '../shared/jsonrpc.js'
import { runBatch } from './batch.js'
import type { CallContext } from './call-context.js'
import { CallRunner, type CallModules } from './call-runner.js'
import { chargeReply } from './charge-reply.js'
import { joinBody } from './join-body.js'
import { packedElements, restoreAddresses } from './long-message/restore-addresses.js'
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
  /**
   * Answers a message with one error, without parsing it; empty if its call has no id. The ids
   * of a batch or a long message are not read: the reply has the id `null`.
   */
  refuse(body: Uint8Array, error: RpcError, context: CallContext): string
}

const NO_BYTES = new Uint8Array(0)
const NO_ID: Id = 'null'

/** The received bytes of a message, for calls that are forwarded. They are not kept. */
type Received = {
  readonly body: Uint8Array
  /** Elements of a batch that was not parsed as a whole. */
  readonly elements?: () => readonly Uint8Array[]
}

const OPENING_BRACKET = 0x5b
const SPACE = 0x20

/** Whether a message begins as an array does. */
const isArray = (body: Uint8Array): boolean => body.find(byte => byte > SPACE) === OPENING_BRACKET

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
  private readonly turn: LoopTurn

  constructor(options: Options, modules: CallModules) {
    this.options = options
    this.modules = modules
    this.runner = new CallRunner(modules)
    this.scratch = Buffer.allocUnsafe(options.scratchBytes)
    this.turn = new LoopTurn(options.batchTurnMs, modules.now)
  }

  handle(body: Uint8Array, context: CallContext): Reply | Promise<Reply> {
    const reply = this.reply(body, context)
    return reply instanceof Promise
      ? reply.then(settled => chargeReply(settled, context, this.options.requestReplyBytes))
      : chargeReply(reply, context, this.options.requestReplyBytes)
  }

  private reply(body: Uint8Array, context: CallContext): Reply | Promise<Reply> {
    const { addressesBytesMax, fastLane, loopBytesMax } = this.options
    if (body.length > Math.min(addressesBytesMax, loopBytesMax))
      return this.handleLong(body, context)
    const reply = fastLane ? this.handleFast(body, context) : undefined
    if (reply !== undefined) return reply
    const scanned = scanMessage(body, this.options)
    if ('error' in scanned) return this.handleSingle(scanned, { body }, context)
    if (!scanned.isBatch) return this.handleMessage(parseScanned(scanned), { body }, context, 1)
    const atOnce = this.acquireBatch(scanned, context)
    if (typeof atOnce !== 'number') return atOnce
    return this.handleMessage(parseScanned(scanned), { body }, context, atOnce)
  }

  refuse(body: Uint8Array, error: RpcError, context: CallContext): string {
    const isOne = body.length <= this.options.loopBytesMax && !isArray(body)
    const scanned = isOne ? scanMessage(body, this.options) : undefined
    const isRead = scanned !== undefined && !('error' in scanned) && scanned.ids.length > 0
    const id = isRead ? unparsedId(scanned.ids[0]) : NO_ID
    if (id === undefined) return ''
    this.runner.refuse('none', error, context)
    return formatError(id, error)
  }

  /**
   * Answers a message that is too long for the event loop: its addresses are decoded on a thread,
   * and what is left of it is parsed here.
   */
  private async handleLong(received: Uint8Array, context: CallContext): Promise<Reply> {
    const { options, modules } = this
    const more = Math.ceil(received.length / options.requestBytes) - 1
    const refused = context.acquireMore?.(more)
    if (refused !== undefined) return this.toRefusal(refused, context)
    // It is needed after this tick; a copy of 8 MiB takes 4 ms of the event loop.
    const body = context.ownsBody === true ? received : Buffer.from(received)
    try {
      const packed = await modules.reads.pack(body, options)
      if (this.turn.isOver) await this.turn.next()
      const scanned = scanMessage(packed.text, options)
      if ('error' in scanned) return await this.handleSingle(scanned, { body }, context)
      const atOnce = scanned.isBatch ? this.acquireBatch(scanned, context) : 1
      if (typeof atOnce !== 'number') return atOnce
      const message = restoreAddresses(parseScanned(scanned), packed.lists, modules.methods)
      const elements = (): readonly Uint8Array[] => packedElements(body, packed)
      return await this.handleMessage(message, { body, elements }, context, atOnce)
    } catch (thrown) {
      return this.toRefusal(this.runner.toError(thrown, 'none', context), context)
    }
  }

  private handleMessage(
    message: Message,
    received: Received,
    context: CallContext,
    atOnce: number,
  ): Reply | Promise<Reply> {
    return isBatch(message)
      ? this.handleBatch(message, received, context, atOnce)
      : this.handleSingle(message, received, context)
  }

  private toRefusal(refused: Reply | RpcError, context: CallContext): Reply {
    if (!(refused instanceof RpcError)) return refused
    return toReply(NO_ID, this.runner.refuse('none', refused, context))
  }

  /** Canonical point reads, which the native addon answers without a parsed message. */
  private handleFast(body: Uint8Array, context: CallContext): Reply | undefined {
    const { reads, onCall, onFault, now } = this.modules
    const startMs = now()
    try {
      const reply = reads.fast(body)
      if (reply === undefined) return undefined
      const elapsedMs = now() - startMs
      context.onCall?.({ method: reply.method, outcome: reply.bytes, elapsedMs })
      onCall(reply.method, 'ok', elapsedMs)
      return jsonReply(reply.bytes)
    } catch (fault) {
      onFault(fault, 'fast lane', context)
      return undefined
    }
  }

  private handleSingle(
    call: Call | Refusal,
    { body }: Received,
    context: CallContext,
  ): Reply | Promise<Reply> {
    const { id } = call
    if (id === undefined) return jsonReply('')
    if (isRefusal(call)) return toReply(id, this.runner.refuse('none', call.error, context))
    const submit = context.submissionOf?.(call.method)
    if (submit !== undefined)
      return this.runner.submit(submit, { id, body, context }).then(jsonReply)
    // Copied now: a page finds out in a later tick that it must be forwarded.
    const copy = this.runner.mayForward(call) ? Buffer.from(body) : NO_BYTES
    const bytes = (): Uint8Array => copy
    const { readTimeoutMs: waitMs } = this.options
    const outcome = this.runner.run(call, context, { bytes, waitMs })
    // The scratch buffer is shared, so a reply that was awaited gets memory of its own.
    return outcome instanceof Promise
      ? outcome.then(settled => toReply(id, settled))
      : toReply(id, outcome, this.scratch)
  }

  private handleBatch(
    calls: readonly (Call | Refusal)[],
    received: Received,
    context: CallContext,
    atOnce: number,
  ): Reply | Promise<Reply> {
    const { options, runner, turn } = this
    const { now } = this.modules
    const endMs = now() + options.readTimeoutMs
    for (const call of calls) if (isRefusal(call)) runner.refuse('none', call.error, context)
    // Copied: later calls of a batch run after this tick.
    const mayForward = calls.some(call => runner.mayForward(call))
    const toElements = received.elements ?? (() => rawElements(Buffer.from(received.body)))
    const elements = mayForward ? toElements() : []
    const run = (call: Call, index: number): Outcome | Promise<Outcome> => {
      // Copied: an upstream may be sent them when the batch has been answered.
      const bytes = (): Uint8Array => Buffer.from(elements[index] ?? NO_BYTES)
      return runner.run(call, context, { bytes, waitMs: Math.max(0, endMs - now()) })
    }
    const { batchReplyBytesMax } = options
    const joined = runBatch(calls, run, { atOnce, batchReplyBytesMax, turn })
    return joined instanceof Promise ? joined.then(jsonReply) : jsonReply(joined)
  }

  /**
   * Charges a batch to its access before it is parsed. Returns how many of its calls are awaited at
   * a time, or the reply where it is over a limit.
   */
  private acquireBatch(scanned: ScannedMessage, context: CallContext): number | Reply {
    const { callCount } = scanned
    const wanted = Math.max(1, Math.min(callCount, this.options.batchWaitingMax))
    const granted = context.acquireBatch?.(callCount, wanted) ?? wanted
    return granted instanceof RpcError ? this.toRefusal(granted, context) : granted
  }
}

/** The JSON-RPC methods of one network on one edge. */
export const createDispatch = (options: Options, modules: DispatchModules): Dispatch =>
  new Dispatcher(options, { methods: METHODS, ...modules })
