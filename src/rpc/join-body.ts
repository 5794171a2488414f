import type { BodySource } from '../shared/http.js'
import { RpcError } from '../shared/errors.js'

/** Piece of a body: bytes of one's own, or a source that is read when its turn comes. */
export type Part = Uint8Array | BodySource

const isBytes = (part: Part): part is Uint8Array => part instanceof Uint8Array

/**
 * One source that gives the bytes of all parts in order. Each source among them is closed exactly
 * once: when it has ended, or when the whole is closed. Past `bytesMax` the read rejects: sources
 * need not tell their length before.
 */
export const joinBody = (parts: readonly Part[], bytesMax = Infinity): BodySource => {
  const byteLength = parts.reduce<number | undefined>(
    (sum, part) =>
      sum === undefined || part.byteLength === undefined ? undefined : sum + part.byteLength,
    0,
  )
  let index = 0
  let offset = 0
  let sentBytes = 0

  const count = (bytes: number): number => {
    sentBytes += bytes
    if (sentBytes > bytesMax) throw new RpcError('batchReplyTooLong', { max: bytesMax })
    return bytes
  }

  const read = (into: Uint8Array): number | Promise<number> => {
    let filled = 0
    while (index < parts.length && filled < into.length) {
      const part = parts[index]
      if (part === undefined) break
      if (isBytes(part)) {
        const piece = part.subarray(offset, offset + into.length - filled)
        into.set(piece, filled)
        filled += piece.length
        offset += piece.length
        if (offset === part.length) advance()
        continue
      }
      const got = part.read(into.subarray(filled))
      // One read of a source per call: what it gives at once is what it has.
      if (typeof got !== 'number') return got.then(bytes => finish(part, bytes, filled, into))
      return finish(part, got, filled, into)
    }
    return count(filled)
  }

  const finish = (
    source: BodySource,
    got: number,
    filled: number,
    into: Uint8Array,
  ): number | Promise<number> => {
    if (got > 0) return count(filled + got)
    // Closed meanwhile: there is nothing to go on to.
    if (parts[index] !== source) return count(filled)
    source.close()
    advance()
    // 0 would be read as the end of the whole.
    return filled > 0 ? count(filled) : read(into)
  }

  const advance = (): void => {
    index++
    offset = 0
  }

  return {
    byteLength,
    read,
    close() {
      const rest = parts.slice(index)
      index = parts.length
      for (const part of rest) if (!isBytes(part)) part.close()
    },
  }
}
