import { crc32 } from 'node:zlib'

/**
 * A record: kind (1 byte), 0 (1), length of the rest (2), stamp (4), hour or day (4), CRC-32 of
 * what is before it and of the rest (4), the rest. A full disk or a power cut may leave the last
 * one incomplete.
 */
export const KIND = { minutes: 1, sum: 2, methods: 3 } as const
const CRC_AT = 12
const HEAD_BYTES = 16

export type Frame = {
  readonly kind: number
  readonly stamp: number
  /** An hour or a day since 1970. */
  readonly unit: number
  readonly rest: Buffer
  /** Offset of the next frame. */
  readonly end: number
}

export const encodeFrame = ({ kind, stamp, unit, rest }: Omit<Frame, 'end'>): Buffer => {
  const head = Buffer.alloc(HEAD_BYTES)
  head[0] = kind
  head.writeUInt16LE(rest.length, 2)
  head.writeUInt32LE(stamp, 4)
  head.writeUInt32LE(unit, 8)
  head.writeUInt32LE(crc32(rest, crc32(head.subarray(0, CRC_AT))), CRC_AT)
  return Buffer.concat([head, rest])
}

const decode = (bytes: Buffer, at: number): Frame | undefined => {
  if (at + HEAD_BYTES > bytes.length) return undefined
  const end = at + HEAD_BYTES + bytes.readUInt16LE(at + 2)
  if (end > bytes.length) return undefined
  const rest = bytes.subarray(at + HEAD_BYTES, end)
  const crc = crc32(rest, crc32(bytes.subarray(at, at + CRC_AT)))
  if (crc !== bytes.readUInt32LE(at + CRC_AT)) return undefined
  const [stamp, unit] = [bytes.readUInt32LE(at + 4), bytes.readUInt32LE(at + 8)]
  return { kind: bytes[at] ?? 0, stamp, unit, rest, end }
}

/** The records of a history up to where it is whole. */
export function* framesOf(bytes: Buffer): Generator<Frame> {
  for (let frame = decode(bytes, 0); frame !== undefined; frame = decode(bytes, frame.end))
    yield frame
}

/** How many bytes of a history are whole records. */
export const wholeBytesOf = (bytes: Buffer): number => {
  let end = 0
  for (const frame of framesOf(bytes)) end = frame.end
  return end
}
