import type { BodySource } from '../../shared/http.js'

/** A body that is already whole, as a source. Owns `bytes`. */
export const createBytesSource = (bytes: Uint8Array, onClose: () => void): BodySource => {
  let at = 0
  return {
    byteLength: bytes.byteLength,
    read: into => {
      const piece = bytes.subarray(at, at + into.byteLength)
      into.set(piece)
      at += piece.byteLength
      return piece.byteLength
    },
    close: onClose,
  }
}
