import { randomFillSync } from 'node:crypto'

/** Bytes of an id. Its first six are Unix milliseconds, so that ids sort as they are made. */
export const ID_BYTES = 16

/** Random bytes that are drawn at once: one call for 256 ids. */
const POOL_BYTES = 2_560
const RANDOM_BYTES = 10

/** Makes ids of submissions: UUIDs of version 7 (RFC 9562), as bytes. */
export const createIds = (
  now: () => number,
  fillRandom: (bytes: Uint8Array) => void = randomFillSync,
): (() => Uint8Array) => {
  const pool = Buffer.alloc(POOL_BYTES)
  let used = POOL_BYTES
  return () => {
    if (used === POOL_BYTES) {
      fillRandom(pool)
      used = 0
    }
    // Of Node's pool: alone, its memory would be taken from the system when somebody looks at it as bytes.
    const id = Buffer.allocUnsafe(ID_BYTES)
    id.writeUIntBE(now(), 0, 6)
    pool.copy(id, 6, used, used + RANDOM_BYTES)
    used += RANDOM_BYTES
    id[6] = ((id[6] ?? 0) & 0x0f) | 0x70
    id[8] = ((id[8] ?? 0) & 0x3f) | 0x80
    return id
  }
}

/** An id as it goes over the wire. */
export const formatId = (id: Uint8Array): string => {
  const bytes = Buffer.isBuffer(id) ? id : Buffer.from(id.buffer, id.byteOffset, id.byteLength)
  const hex = bytes.toString('hex')
  const [first, second, third] = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16)]
  return `${first}-${second}-${third}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`
}

const SHAPE = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i

/** The bytes of an id of ours; undefined where the text can be none. */
export const parseId = (text: string): Uint8Array | undefined =>
  SHAPE.test(text) ? Buffer.from(text.replaceAll('-', ''), 'hex') : undefined

/** Unix milliseconds at which an id was made. */
export const timeOfId = (id: Uint8Array): number =>
  Buffer.from(id.buffer, id.byteOffset, id.byteLength).readUIntBE(0, 6)
