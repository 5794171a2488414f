import { RpcError } from '../shared/errors.js'
import { formatError, formatResultSuffix, RESULT_PREFIX, type Id } from '../shared/jsonrpc.js'
import type { ReplyBytes } from '../native/reads.js'
import type { Part } from './join-body.js'

/** A reply that came whole, with its envelope and id, from somewhere else. */
export class RawReply {
  readonly bytes: Uint8Array
  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }
  get byteLength(): number {
    return this.bytes.length
  }
}

/** How one call ended. */
export type Outcome = ReplyBytes | RawReply | RpcError

const PREFIX = Buffer.from(RESULT_PREFIX)

/** UTF-8 takes at most three bytes for a UTF-16 unit. */
const UTF8_BYTES_MAX = 3

/**
 * A whole reply around result bytes, in `scratch` where it fits: then valid until `scratch` is
 * written again.
 */
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

/** A whole reply as pieces of its own memory, or around a source that is read later. */
export const toParts = (id: Id, outcome: Outcome): readonly Part[] => {
  if (outcome instanceof RpcError) return [Buffer.from(formatError(id, outcome))]
  if (outcome instanceof Uint8Array) return [encodeResult(id, outcome)]
  if (outcome instanceof RawReply) return [outcome.bytes]
  return [PREFIX, outcome, Buffer.from(formatResultSuffix(id))]
}
