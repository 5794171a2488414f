import { RpcError } from '../shared/errors.js'
import type { Body } from '../shared/http.js'
import { isRefusal, type Call, type Refusal } from '../shared/jsonrpc.js'
import { joinBody, type Part } from './join-body.js'
import type { Options } from './options.js'
import { toParts, type Outcome } from './outcome.js'

const OPEN = Buffer.from('[')
const COMMA = Buffer.from(',')
const CLOSE = Buffer.from(']')

/** Runs one call of a batch. Must not throw or reject. */
export type RunCall = (call: Call, index: number) => Outcome | Promise<Outcome>

/** One batch: its calls, and their replies that have arrived. */
class Batch {
  private readonly calls: readonly (Call | Refusal)[]
  private readonly runCall: RunCall
  private readonly bytesMax: number
  private readonly tooLong: RpcError
  private readonly replies: (readonly Part[] | undefined)[]
  private resultBytes = 0
  private next = 0

  constructor(calls: readonly (Call | Refusal)[], runCall: RunCall, bytesMax: number) {
    this.calls = calls
    this.runCall = runCall
    this.bytesMax = bytesMax
    this.tooLong = new RpcError('batchReplyTooLong', { max: bytesMax })
    this.replies = new Array(calls.length)
  }

  /**
   * Runs calls until one must be awaited, then the rest. Undefined once all calls have started.
   */
  run(): Promise<void> | undefined {
    while (this.next < this.calls.length) {
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

  /** The joined replies; empty where no call is answered. */
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
 * Runs the calls of a batch and joins their replies in request order; the body is empty where no
 * call is answered. Synchronous where no call has to be awaited; of those that are, at most
 * `batchWaitingMax` are awaited at a time.
 */
export const runBatch = (
  calls: readonly (Call | Refusal)[],
  runCall: RunCall,
  { batchWaitingMax, batchReplyBytesMax }: Options,
): Body | Promise<Body> => {
  const batch = new Batch(calls, runCall, batchReplyBytesMax)
  const runners: Promise<void>[] = []
  do {
    const runner = batch.run()
    if (runner === undefined) break
    runners.push(runner)
  } while (runners.length < batchWaitingMax)
  return runners.length === 0 ? batch.join() : Promise.all(runners).then(() => batch.join())
}
