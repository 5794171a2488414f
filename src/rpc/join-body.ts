import { RpcError } from '../shared/errors.js'
import type { BodySource } from '../shared/http.js'

/** Part of a body: bytes in memory, or a source that is read when the earlier parts are. */
export type Part = Uint8Array | BodySource

const isBytes = (part: Part): part is Uint8Array => part instanceof Uint8Array

const sumLengths = (parts: readonly Part[]): number | undefined => {
  let sum = 0
  for (const { byteLength } of parts) {
    if (byteLength === undefined) return undefined
    sum += byteLength
  }
  return sum
}

class JoinedSource implements BodySource {
  readonly byteLength: number | undefined
  private readonly parts: readonly Part[]
  private readonly bytesMax: number
  private index = 0
  /** Bytes read of the current part, where it is in memory. */
  private offset = 0
  private readBytes = 0

  constructor(parts: readonly Part[], bytesMax: number) {
    this.parts = parts
    this.bytesMax = bytesMax
    this.byteLength = sumLengths(parts)
  }

  read(into: Uint8Array): number | Promise<number> {
    let filled = 0
    while (this.index < this.parts.length && filled < into.length) {
      const part = this.parts[this.index]
      if (part === undefined) break
      if (isBytes(part)) {
        filled += this.copy(part, into.subarray(filled))
        continue
      }
      // At most one read of a source per call: what it returns at once is all it has now.
      const count = part.read(into.subarray(filled))
      if (typeof count === 'number') return this.finishRead(part, count, filled, into)
      return count.then(settled => this.finishRead(part, settled, filled, into))
    }
    return this.count(filled)
  }

  refusedCount(): number {
    let count = 0
    for (const part of this.parts) if (!isBytes(part)) count += part.refusedCount?.() ?? 0
    return count
  }

  close(): void {
    const rest = this.parts.slice(this.index)
    this.index = this.parts.length
    for (const part of rest) if (!isBytes(part)) part.close()
  }

  private copy(part: Uint8Array, into: Uint8Array): number {
    const chunk = part.subarray(this.offset, this.offset + into.length)
    into.set(chunk)
    this.offset += chunk.length
    if (this.offset === part.length) this.advance()
    return chunk.length
  }

  private finishRead(
    source: BodySource,
    count: number,
    filled: number,
    into: Uint8Array,
  ): number | Promise<number> {
    if (count > 0) return this.count(filled + count)
    // The whole was closed during the read.
    if (this.parts[this.index] !== source) return this.count(filled)
    source.close()
    this.advance()
    // Not 0, which would end the whole.
    return filled > 0 ? this.count(filled) : this.read(into)
  }

  private advance(): void {
    this.index++
    this.offset = 0
  }

  private count(bytes: number): number {
    this.readBytes += bytes
    if (this.readBytes > this.bytesMax)
      throw new RpcError('batchReplyTooLong', { max: this.bytesMax })
    return bytes
  }
}

/**
 * Joins parts to one source. Each source among them is closed exactly once: at its end, or when the
 * whole is closed. A read past `bytesMax` fails, because the length of a source may be unknown.
 */
export const joinBody = (parts: readonly Part[], bytesMax = Infinity): BodySource =>
  new JoinedSource(parts, bytesMax)
