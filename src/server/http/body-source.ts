import type { ByteShare } from '../../shared/byte-budget.js'
import type { BodySource, SizedSource } from '../../shared/http.js'

/** True for a body that is read in chunks. */
export const isBodySource = (body: unknown): body is BodySource =>
  typeof body === 'object' && body !== null && 'read' in body && 'close' in body

/** Bytes in memory as a source. Owns `bytes`, which `share` has taken. */
export const createBytesSource = (bytes: Uint8Array, share: ByteShare): SizedSource =>
  createChunksSource([bytes], share)

/** Chunks in memory as a source. Owns `chunks`, which `share` has taken. */
export const createChunksSource = (
  chunks: readonly Uint8Array[],
  share: ByteShare,
): SizedSource => {
  let index = 0
  let offset = 0
  return {
    byteLength: chunks.reduce((sum, { byteLength }) => sum + byteLength, 0),
    read: into => {
      let filled = 0
      for (let chunk = chunks[index]; chunk !== undefined; chunk = chunks[index]) {
        const part = chunk.subarray(offset, offset + into.byteLength - filled)
        into.set(part, filled)
        filled += part.byteLength
        offset += part.byteLength
        if (offset < chunk.byteLength) break
        index++
        offset = 0
      }
      return filled
    },
    refusedCount: () => share.refusedCount,
    close: () => share.give(),
  }
}
