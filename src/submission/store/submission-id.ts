import { randomFillSync } from 'node:crypto'

/** Bytes of an id. Its first six are Unix milliseconds, so that ids sort as they are made. */
export const ID_BYTES = 16

/** Random bytes that are drawn at once, and become 256 ids. */
const POOL_BYTES = 256 * ID_BYTES

/** Makes ids of submissions: UUIDs of version 7 (RFC 9562), as bytes. */
export const createIds = (
  now: () => number,
  fillRandom: (bytes: Uint8Array) => void = randomFillSync,
): (() => Uint8Array) => {
  let pool = Buffer.alloc(0)
  let used = 0
  return () => {
    if (used === pool.byteLength) {
      pool = Buffer.allocUnsafeSlow(POOL_BYTES)
      fillRandom(pool)
      used = 0
    }
    const id = pool.subarray(used, used + ID_BYTES)
    used += ID_BYTES
    id.writeUIntBE(now(), 0, 6)
    id[6] = ((id[6] ?? 0) & 0x0f) | 0x70
    id[8] = ((id[8] ?? 0) & 0x3f) | 0x80
    return id
  }
}

const DIGITS = Buffer.from('0123456789abcdef')
/** The last id that was formatted, and where in it the digits of each byte stand. */
const text = Buffer.from('00000000-0000-7000-8000-000000000000')
const PLACES = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34]

/**
 * An id as it goes over the wire. In one piece: a text that is joined of several is joined once
 * more by who writes it.
 */
export const formatId = (id: Uint8Array): string => {
  for (let index = 0; index < ID_BYTES; index++) {
    const place = PLACES[index] ?? 0
    const byte = id[index] ?? 0
    text[place] = DIGITS[byte >> 4] ?? 0
    text[place + 1] = DIGITS[byte & 0x0f] ?? 0
  }
  return text.toString('latin1')
}

const SHAPE = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i

/** The bytes of an id of ours; undefined where the text can be none. */
export const parseId = (text: string): Uint8Array | undefined =>
  SHAPE.test(text) ? Buffer.from(text.replaceAll('-', ''), 'hex') : undefined

/** Unix milliseconds at which an id was made. */
export const timeOfId = (id: Uint8Array): number =>
  Buffer.from(id.buffer, id.byteOffset, id.byteLength).readUIntBE(0, 6)
