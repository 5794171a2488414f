import { RpcError } from '../shared/errors.js'
import type { Body } from '../shared/http.js'
import { isRefusal, type Call, type Refusal } from '../shared/jsonrpc.js'
import { joinBody, type Part } from './join-body.js'
import type { LoopTurn } from '../shared/event-loop/loop-turn.js'
import { toParts, type Outcome } from './outcome.js'

const OPEN = Buffer.from('[')
const COMMA = Buffer.from(',')
const CLOSE = Buffer.from(']')

/** Runs one call of a batch. Must not throw or reject. */
export type RunCall = (call: Call, index: number) => Outcome | Promise<Outcome>

/** How a batch runs. */
export type BatchOptions = {
  /** Calls that are awaited at a time. */
  readonly atOnce: number
  readonly batchReplyBytesMax: number
  readonly turn: LoopTurn
}

/** One batch: its calls, and their replies that have arrived. */
class Batch {
  private readonly calls: readonly (Call | Refusal)[]
  private readonly runCall: RunCall
  private readonly bytesMax: number
  private readonly turn: LoopTurn
  private readonly tooLong: RpcError
  private readonly replies: (readonly Part[] | undefined)[]
  private resultBytes = 0
  private next = 0

  constructor(
    calls: readonly (Call | Refusal)[],
    runCall: RunCall,
    { batchReplyBytesMax: bytesMax, turn }: BatchOptions,
  ) {
    this.calls = calls
    this.runCall = runCall
    this.bytesMax = bytesMax
    this.turn = turn
    this.tooLong = new RpcError('batchReplyTooLong', { max: bytesMax })
    this.replies = new Array(calls.length)
  }

  /**
   * Runs calls until one must be awaited or the turn is over, then the rest. Undefined once all
   * calls have started.
   */
  run(): Promise<void> | undefined {
    while (this.next < this.calls.length) {
      if (this.turn.isOver) return this.turn.next().then(() => this.run())
      const index = this.next++
      const call = this.calls[index]
      if (call === undefined || call.id === undefined) continue
      const { id } = call
      const outcome = this.start(call, index)
      if (outcome instanceof Promise)
        return outcome.then(settled => {
          this.keep(index, id, settled)
          return this.run()
        })
      this.keep(index, id, outcome)
    }
    return undefined
  }

  /** The joined replies; empty if no call is answered. */
  join(): Body {
    const parts: Part[] = []
    for (const reply of this.replies)
      if (reply !== undefined) parts.push(parts.length === 0 ? OPEN : COMMA, ...reply)
    if (parts.length === 0) return ''
    parts.push(CLOSE)
    const chunks = parts.filter(part => part instanceof Uint8Array)
    if (chunks.length === parts.length) return Buffer.concat(chunks)
    // A source of unknown length can still exceed the bound, in which the envelope does not count.
    const envelopeBytes = chunks.reduce((sum, chunk) => sum + chunk.length, 0)
    return joinBody(parts, this.bytesMax + envelopeBytes)
  }

  private start(call: Call | Refusal, index: number): Outcome | Promise<Outcome> {
    if (isRefusal(call)) return call.error
    return this.resultBytes > this.bytesMax ? this.tooLong : this.runCall(call, index)
  }

  private keep(index: number, id: string, outcome: Outcome): void {
    let kept = outcome
    if (!(outcome instanceof RpcError)) {
      this.resultBytes += outcome.byteLength ?? 0
      if (this.resultBytes > this.bytesMax) {
        kept = this.tooLong
        if ('close' in outcome) outcome.close()
      }
    }
    // Copies the bytes, which the next read overwrites.
    this.replies[index] = toParts(id, kept)
  }
}

/**
 * Runs the calls of a batch and joins their replies in request order; the body is empty if no
 * call is answered. Synchronous where no call has to be awaited and the turn has time; of those
 * that are, at most `atOnce` are awaited at a time.
 */
export const runBatch = (
  calls: readonly (Call | Refusal)[],
  runCall: RunCall,
  options: BatchOptions,
): Body | Promise<Body> => {
  const batch = new Batch(calls, runCall, options)
  const runners: Promise<void>[] = []
  do {
    const runner = batch.run()
    if (runner === undefined) break
    runners.push(runner)
  } while (runners.length < options.atOnce)
  return runners.length === 0 ? batch.join() : Promise.all(runners).then(() => batch.join())
}
