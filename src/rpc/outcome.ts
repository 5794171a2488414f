import { RpcError, type AnswerError, type CallError } from '../shared/errors.js'
import { formatError, formatResultSuffix, RESULT_PREFIX, type Id } from '../shared/jsonrpc.js'
import type { ReplyBytes } from '../native/reads.js'
import type { Part } from './join-body.js'

/** A whole reply of the upstream, with its envelope and id. */
export class RawReply {
  readonly bytes: Uint8Array
  /** Its `error`, if it has one. */
  readonly error: AnswerError | undefined
  constructor(bytes: Uint8Array, error?: AnswerError) {
    this.bytes = bytes
    this.error = error
  }
  get byteLength(): number {
    return this.bytes.length
  }
}

/** The outcome of one call. */
export type Outcome = ReplyBytes | RawReply | RpcError

export const errorOf = (outcome: Outcome): CallError | undefined => {
  if (outcome instanceof RpcError) return outcome
  return outcome instanceof RawReply ? outcome.error : undefined
}

const PREFIX = Buffer.from(RESULT_PREFIX)

/** UTF-8 takes at most three bytes for a UTF-16 unit. */
const UTF8_BYTES_MAX = 3

/** A reply around result bytes. In `scratch` where it fits, and then valid until its next use. */
export const encodeResult = (id: Id, result: Uint8Array, scratch?: Buffer): Uint8Array => {
  const suffix = formatResultSuffix(id)
  const bytesMax = PREFIX.length + result.length + suffix.length * UTF8_BYTES_MAX
  const into =
    scratch !== undefined && bytesMax <= scratch.length ? scratch : Buffer.allocUnsafe(bytesMax)
  into.set(PREFIX)
  into.set(result, PREFIX.length)
  const resultEnd = PREFIX.length + result.length
  return into.subarray(0, resultEnd + into.write(suffix, resultEnd))
}

/** A reply as parts: copied bytes, or the envelope around a source. */
export const toParts = (id: Id, outcome: Outcome): readonly Part[] => {
  if (outcome instanceof RpcError) return [Buffer.from(formatError(id, outcome))]
  if (outcome instanceof Uint8Array) return [encodeResult(id, outcome)]
  if (outcome instanceof RawReply) return [outcome.bytes]
  return [PREFIX, outcome, Buffer.from(formatResultSuffix(id))]
}
