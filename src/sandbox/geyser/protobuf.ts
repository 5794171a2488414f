/**
 * The parts of the protocol buffers wire format that the feed needs. Not a library, because an
 * update is encoded once and sent with different filter labels to each subscriber.
 */

const VARINT = 0
const FIXED64 = 1
const LENGTH = 2
const FIXED32 = 5

/** Larger messages already have a buffer of about their own size. */
const PACKED_BYTES_MAX = 4_096

/** Thrown where bytes are not a well-formed message. */
export class ProtobufError extends Error {
  override readonly name = 'ProtobufError'
}

/**
 * Appends fields to one message. Fields with value zero are omitted, as in proto3; `…Always` writes
 * them too.
 */
export class MessageWriter {
  private bytes: Buffer
  private used = 0

  /** `capacity` is the initial size of the buffer in bytes. */
  constructor(capacity = 256) {
    // Not from the shared pool: a kept message would retain a whole slab of it.
    this.bytes = Buffer.allocUnsafeSlow(capacity)
  }

  private reserve(byteCount: number): void {
    if (this.used + byteCount <= this.bytes.length) return
    const next = Buffer.allocUnsafeSlow(Math.max(this.bytes.length * 2, this.used + byteCount))
    this.bytes.copy(next, 0, 0, this.used)
    this.bytes = next
  }

  private varint(value: number): void {
    let rest = value
    this.reserve(10)
    while (rest > 127) {
      this.bytes[this.used++] = (rest % 128) | 128
      rest = Math.floor(rest / 128)
    }
    this.bytes[this.used++] = rest
  }

  private varint64(value: bigint): void {
    let rest = value
    this.reserve(10)
    while (rest > 127n) {
      this.bytes[this.used++] = Number(rest & 127n) | 128
      rest >>= 7n
    }
    this.bytes[this.used++] = Number(rest)
  }

  uintAlways(field: number, value: number | bigint): this {
    this.varint(field * 8 + VARINT)
    if (typeof value === 'number') this.varint(value)
    else if (value <= 0x1fffffffffffffn) this.varint(Number(value))
    else this.varint64(value)
    return this
  }

  uint(field: number, value: number | bigint): this {
    return value === 0 || value === 0n ? this : this.uintAlways(field, value)
  }

  /** A signed number that may be negative: two's complement of 64 bits. */
  int(field: number, value: number): this {
    return value < 0 ? this.uint(field, BigInt.asUintN(64, BigInt(value))) : this.uint(field, value)
  }

  /** A number of a packed list: no tag, and zero is written. */
  packedUint(value: bigint): this {
    if (value <= 0x1fffffffffffffn) this.varint(Number(value))
    else this.varint64(value)
    return this
  }

  bool(field: number, value: boolean): this {
    return value ? this.uintAlways(field, 1) : this
  }

  double(field: number, value: number): this {
    if (value === 0) return this
    this.varint(field * 8 + FIXED64)
    this.reserve(8)
    this.used = this.bytes.writeDoubleLE(value, this.used)
    return this
  }

  bytesAlways(field: number, value: Uint8Array): this {
    return this.prefix(field, value.length).raw(value)
  }

  bytesField(field: number, value: Uint8Array): this {
    return value.length === 0 ? this : this.bytesAlways(field, value)
  }

  stringAlways(field: number, value: string): this {
    return this.bytesAlways(field, Buffer.from(value))
  }

  string(field: number, value: string): this {
    return value === '' ? this : this.stringAlways(field, value)
  }

  /** A nested message; present even where it is empty. */
  message(field: number, value: MessageWriter): this {
    return this.bytesAlways(field, value.finish())
  }

  /** Tag and length of a field whose `byteCount` bytes the caller appends by `raw`. */
  prefix(field: number, byteCount: number): this {
    this.varint(field * 8 + LENGTH)
    this.varint(byteCount)
    return this
  }

  /** Bytes that are encoded already. */
  raw(bytes: Uint8Array): this {
    this.reserve(bytes.length)
    this.bytes.set(bytes, this.used)
    this.used += bytes.length
    return this
  }

  get byteCount(): number {
    return this.used
  }

  /** The written bytes in a buffer of exactly their size. */
  pack(): Buffer {
    return this.used < PACKED_BYTES_MAX ? Buffer.from(this.finish()) : this.finish()
  }

  /** The written bytes as a view: the writer must not be used afterwards. */
  finish(): Buffer {
    return this.bytes.subarray(0, this.used)
  }
}

/** One field: `varint` for numbers, `bytes` for length-delimited values. */
export type Field = {
  readonly number: number
  readonly varint: bigint
  readonly bytes: Uint8Array
  readonly isNumber: boolean
}

const NO_BYTES = new Uint8Array(0)

/** The fields of a message in wire order. Throws ProtobufError on anything truncated or unknown. */
export const decodeFields = (message: Uint8Array): Field[] => {
  let at = 0
  const varint = (): bigint => {
    let value = 0n
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = message[at++]
      if (byte === undefined) throw new ProtobufError('message ends inside a number')
      value |= BigInt(byte & 127) << shift
      if (byte < 128) return BigInt.asUintN(64, value)
    }
    throw new ProtobufError('a number is longer than 10 bytes')
  }
  const take = (byteCount: number): Uint8Array => {
    if (byteCount > message.length - at) throw new ProtobufError('message ends inside a field')
    at += byteCount
    return message.subarray(at - byteCount, at)
  }
  const fields: Field[] = []
  while (at < message.length) {
    const tag = Number(varint() & 0xffffffffn)
    const number = tag >>> 3
    const wire = tag & 7
    if (wire === VARINT) fields.push({ number, varint: varint(), bytes: NO_BYTES, isNumber: true })
    else if (wire === LENGTH)
      fields.push({ number, varint: 0n, bytes: take(Number(varint())), isNumber: false })
    else if (wire === FIXED64) take(8)
    else if (wire === FIXED32) take(4)
    else throw new ProtobufError(`wire type ${wire} is not known`)
  }
  return fields
}
