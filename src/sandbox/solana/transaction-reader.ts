/** Bytes that are not a transaction; the message says why. */
export class TransactionFormatError extends Error {
  override readonly name = 'TransactionFormatError'
}

export const KEY_BYTES = 32
export const SIGNATURE_BYTES = 64

/** Throws TransactionFormatError. */
export const fail = (reason: string): never => {
  throw new TransactionFormatError(reason)
}

/** Reads the parts of a transaction in order. Throws TransactionFormatError. */
export const createReader = (bytes: Uint8Array) => {
  let at = 0
  const byte = (): number => bytes[at++] ?? fail('transaction is truncated')
  const take = (byteCount: number): Uint8Array => {
    if (byteCount > bytes.length - at) fail('transaction is truncated')
    at += byteCount
    return bytes.subarray(at - byteCount, at)
  }
  /** A 32-bit little-endian integer. */
  const word = (): number => {
    const [a, b, c, d] = [byte(), byte(), byte(), byte()]
    return (a | (b << 8) | (c << 16) | (d << 24)) >>> 0
  }
  /** Length prefix of one to three bytes; only the shortest form is valid. */
  const length = (): number => {
    let value = 0
    for (let shift = 0; shift < 21; shift += 7) {
      const next = byte()
      value |= (next & 127) << shift
      if (next >= 128) continue
      if (next === 0 && shift > 0) fail('length prefix is not in its shortest form')
      return value > 0xffff ? fail('length prefix is over 65535') : value
    }
    return fail('length prefix is longer than 3 bytes')
  }
  const list = <T>(item: () => T): T[] => Array.from({ length: length() }, item)
  return {
    byte,
    word,
    take,
    list,
    byteList: () => take(length()),
    position: () => at,
    peek: () => bytes[at] ?? fail('transaction is truncated'),
  }
}
