import type { BodySource } from '../../shared/http.js'

/** True for a body that is read in chunks. */
export const isBodySource = (body: unknown): body is BodySource =>
  typeof body === 'object' && body !== null && 'read' in body && 'close' in body

/** Bytes in memory as a source. Owns `bytes`. */
export const createBytesSource = (bytes: Uint8Array, onClose: () => void): BodySource => {
  let offset = 0
  return {
    byteLength: bytes.byteLength,
    read: into => {
      const chunk = bytes.subarray(offset, offset + into.byteLength)
      into.set(chunk)
      offset += chunk.byteLength
      return chunk.byteLength
    },
    close: onClose,
  }
}
