import { gunzipSync } from 'node:zlib'

/** The gRPC status codes that the feed uses. */
export const GRPC_STATUS = {
  ok: 0,
  invalidArgument: 3,
  resourceExhausted: 8,
  outOfRange: 11,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
} as const

/** Final status of a call. */
export type GrpcStatus = { readonly code: number; readonly details: string }

/** Thrown by a handler to end its call with a status. */
export class GrpcError extends Error {
  override readonly name = 'GrpcError'
  readonly code: number

  constructor(code: number, details: string) {
    super(details)
    this.code = code
  }
}

const HEADER_BYTES = 5

/** The header of a message of this length. */
export const encodeFrameHeader = (byteCount: number): Buffer => {
  const header = Buffer.allocUnsafe(HEADER_BYTES)
  header[0] = 0
  header.writeUInt32BE(byteCount, 1)
  return header
}

/** Splits received bytes into messages. */
export const createDecoder = (encoding: string | undefined, bytesMax: number) => {
  let pending: Buffer = Buffer.alloc(0)
  return (chunk: Buffer): Buffer[] => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
    const messages: Buffer[] = []
    while (pending.length >= HEADER_BYTES) {
      const byteCount = pending.readUInt32BE(1)
      if (byteCount > bytesMax)
        throw new GrpcError(GRPC_STATUS.resourceExhausted, `message exceeds ${bytesMax} bytes`)
      if (pending.length < HEADER_BYTES + byteCount) break
      const isCompressed = pending[0] === 1
      const bytes = pending.subarray(HEADER_BYTES, HEADER_BYTES + byteCount)
      pending = pending.subarray(HEADER_BYTES + byteCount)
      messages.push(isCompressed ? decompress(bytes, encoding, bytesMax) : bytes)
    }
    return messages
  }
}

const decompress = (bytes: Buffer, encoding: string | undefined, bytesMax: number): Buffer => {
  if (encoding !== 'gzip')
    throw new GrpcError(GRPC_STATUS.unimplemented, `grpc-encoding ${encoding} is not supported`)
  try {
    return gunzipSync(bytes, { maxOutputLength: bytesMax })
  } catch {
    throw new GrpcError(GRPC_STATUS.internal, 'message could not be decompressed')
  }
}
