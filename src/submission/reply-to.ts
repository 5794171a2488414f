import { scanMessage, type Id } from '../shared/jsonrpc.js'
import { parseJson } from '../shared/values.js'

/** Bounds of an upstream's reply that is searched for its id; they are those of its bytes. */
const REPLY_LIMITS = { nestingMax: 128, batchCountMax: Infinity }
/** A longer answer would hold the event loop while it is parsed. */
const ANSWER_BYTES_MAX = 64 * 1024
/** Of an answer that is no reply, what its error repeats. */
const ANSWER_CHARS_MAX = 1_024

/**
 * Whether an upstream's answer is the reply to a call. It could answer anything: with another id it
 * would be taken for another reply.
 */
export const isReplyTo = (id: Id, bytes: Uint8Array): boolean => {
  if (bytes.byteLength > ANSWER_BYTES_MAX) return false
  const scanned = scanMessage(bytes, REPLY_LIMITS)
  if ('error' in scanned || scanned.isBatch || scanned.ids[0] !== id) return false
  const reply: object = Object(parseJson(scanned.text))
  return 'jsonrpc' in reply && ('result' in reply || 'error' in reply)
}

/** An answer that is no reply, as the `data` of the error in its place. */
export const toAnswerData = (
  bytes: Uint8Array,
  contentType: string,
): { readonly contentType: string; readonly body: string } => {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
  return { contentType, body: text.slice(0, ANSWER_CHARS_MAX) }
}
