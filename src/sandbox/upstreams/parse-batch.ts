/** The complete records of a batch, and the framing error that follows them, if any. */
export type Batch = {
  readonly records: readonly Uint8Array[]
  readonly problem: string | undefined
}

/** Bounds of a batch. */
export type BatchLimits = {
  readonly countMax: number
  readonly bytesMin: number
  readonly bytesMax: number
}

const LENGTH_BYTES = 2

/** Splits a batch into records: a big-endian 16-bit length, then the transaction. */
export const parseBatch = (body: Buffer, { countMax, bytesMin, bytesMax }: BatchLimits): Batch => {
  const records: Uint8Array[] = []
  const end = (problem?: string): Batch => ({ records, problem })
  if (body.length === 0) return end('empty batch')
  for (let at = 0; at < body.length;) {
    if (records.length === countMax)
      return end(`more than ${countMax} transactions at offset ${at}`)
    if (body.length - at < LENGTH_BYTES) return end(`truncated length prefix at offset ${at}`)
    const byteCount = body.readUInt16BE(at)
    if (byteCount < bytesMin || byteCount > bytesMax)
      return end(`transaction of ${byteCount} bytes at offset ${at}`)
    const from = at + LENGTH_BYTES
    if (body.length - from < byteCount) return end(`truncated transaction at offset ${at}`)
    records.push(body.subarray(from, from + byteCount))
    at = from + byteCount
  }
  return end()
}
