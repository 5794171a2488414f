import { RpcError } from '../shared/errors.js'
import type { Body } from '../shared/http.js'
import { isRefusal, type Call, type Refusal } from '../shared/jsonrpc.js'
import { joinBody, type Part } from './join-body.js'
import type { Options } from './options.js'
import { toParts, type Outcome } from './outcome.js'

const OPEN = Buffer.from('[')
const COMMA = Buffer.from(',')
const CLOSE = Buffer.from(']')

/**
 * Runs the calls of a batch and joins their replies in request order; the body is empty where
 * nothing is answered. At once where no call waits; of those that do, at most `batchWaitingMax`
 * wait at a time. `run` must not throw.
 */
export const runBatch = (
  calls: readonly (Call | Refusal)[],
  run: (call: Call, index: number) => Outcome | Promise<Outcome>,
  { batchWaitingMax, batchReplyBytesMax }: Options,
): Body | Promise<Body> => {
  const replies: (readonly Part[] | undefined)[] = new Array(calls.length)
  const tooLong = new RpcError('batchReplyTooLong', { max: batchReplyBytesMax })
  let resultBytes = 0
  let next = 0

  const take = (index: number, id: string, outcome: Outcome): void => {
    let kept = outcome
    if (!(outcome instanceof RpcError)) {
      resultBytes += outcome.byteLength ?? 0
      if (resultBytes > batchReplyBytesMax) {
        kept = tooLong
        if ('close' in outcome) outcome.close()
      }
    }
    // Bytes are copied here: the next read overwrites what they are a view of.
    replies[index] = toParts(id, kept)
  }

  /** Answers elements until one waits; when it is done, goes on. */
  const runNext = (): Promise<void> | undefined => {
    while (next < calls.length) {
      const index = next++
      const call = calls[index]
      if (call === undefined || call.id === undefined) continue
      const { id } = call
      if (isRefusal(call)) {
        take(index, id, call.error)
        continue
      }
      const outcome = resultBytes > batchReplyBytesMax ? tooLong : run(call, index)
      if (outcome instanceof Promise)
        return outcome.then(settled => {
          take(index, id, settled)
          return runNext()
        })
      take(index, id, outcome)
    }
    return undefined
  }

  const runners: Promise<void>[] = []
  do {
    const runner = runNext()
    if (runner === undefined) break
    runners.push(runner)
  } while (runners.length < batchWaitingMax)
  const finish = (): Body => joinReplies(replies, batchReplyBytesMax)
  return runners.length === 0 ? finish() : Promise.all(runners).then(finish)
}

const joinReplies = (replies: readonly (readonly Part[] | undefined)[], bytesMax: number): Body => {
  const parts: Part[] = []
  for (const reply of replies)
    if (reply !== undefined) parts.push(parts.length === 0 ? OPEN : COMMA, ...reply)
  if (parts.length === 0) return ''
  parts.push(CLOSE)
  const pieces = parts.filter(part => part instanceof Uint8Array)
  if (pieces.length === parts.length) return Buffer.concat(pieces)
  // Only a source that does not tell its length can still exceed the bound; the envelope is not
  // counted in it.
  const envelopeBytes = pieces.reduce((sum, piece) => sum + piece.length, 0)
  return joinBody(parts, bytesMax + envelopeBytes)
}
