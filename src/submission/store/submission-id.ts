import { randomFillSync } from 'node:crypto'

/**
 * Bytes of an id. Its first six are Unix milliseconds, so that ids sort by the time of creation.
 */
export const ID_BYTES = 16

/** Ids whose random bytes are generated together: the call costs more than its bytes. */
const RANDOM_IDS = 128

/** Creates ids of submissions: UUIDs of version 7 (RFC 9562), as bytes. */
export const createIds = (
  now: () => number,
  fillRandom: (bytes: Uint8Array) => void = randomFillSync,
): (() => Uint8Array) => {
  let random = Buffer.alloc(0)
  return () => {
    if (random.length === 0) {
      random = Buffer.allocUnsafeSlow(RANDOM_IDS * ID_BYTES)
      fillRandom(random)
    }
    const id = random.subarray(0, ID_BYTES)
    random = random.subarray(ID_BYTES)
    id.writeUIntBE(now(), 0, 6)
    id[6] = ((id[6] ?? 0) & 0x0f) | 0x70
    id[8] = ((id[8] ?? 0) & 0x3f) | 0x80
    return id
  }
}

/** An id as text. */
export const formatId = (id: Uint8Array): string => {
  const hex = Buffer.from(id.buffer, id.byteOffset, id.byteLength).toString('hex')
  const groups = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)]
  return `${groups.join('-')}-${hex.slice(20)}`
}

const SHAPE = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i

/** The bytes of an id; undefined where the text is not one of ours. */
export const parseId = (text: string): Uint8Array | undefined =>
  SHAPE.test(text) ? Buffer.from(text.replaceAll('-', ''), 'hex') : undefined

/** Unix milliseconds at which an id was created. */
export const timeOfId = (id: Uint8Array): number =>
  Buffer.from(id.buffer, id.byteOffset, id.byteLength).readUIntBE(0, 6)
