import type { BodySource, Reply } from '../shared/http.js'
import type { CallContext } from './call-context.js'

/** Charges a source of unknown length as it is read. */
const chargeReads = (
  source: BodySource,
  context: CallContext,
  requestBytes: number,
): BodySource => {
  let readBytes = 0
  const count = (bytes: number): number => {
    readBytes += bytes
    context.chargeReply?.(Math.ceil(readBytes / requestBytes))
    return bytes
  }
  return {
    byteLength: undefined,
    read: into => {
      const read = source.read(into)
      return typeof read === 'number' ? count(read) : read.then(count)
    },
    refusedCount: () => source.refusedCount?.() ?? 0,
    close: () => source.close(),
  }
}

/**
 * Charges a reply to its access by its length: work that is sent is work that was made. Each
 * `requestBytes` are a request, the first of which the call itself is.
 */
export const chargeReply = (reply: Reply, context: CallContext, requestBytes: number): Reply => {
  if (context.chargeReply === undefined) return reply
  const { body } = reply
  const bytes = typeof body === 'string' ? body.length : body.byteLength
  if (bytes !== undefined) {
    if (bytes > requestBytes) context.chargeReply(Math.ceil(bytes / requestBytes))
    return reply
  }
  // Only the length of a source can be unknown.
  if (typeof body === 'string' || body instanceof Uint8Array) return reply
  return { ...reply, body: chargeReads(body, context, requestBytes) }
}
