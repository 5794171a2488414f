import { randomFillSync } from 'node:crypto'

/**
 * Bytes of an id. Its first six are Unix milliseconds, so that ids sort by the time of creation.
 */
export const ID_BYTES = 16

/** Creates ids of submissions: UUIDs of version 7 (RFC 9562), as bytes. */
export const createIds =
  (
    now: () => number,
    fillRandom: (bytes: Uint8Array) => void = randomFillSync,
  ): (() => Uint8Array) =>
  () => {
    const id = Buffer.allocUnsafeSlow(ID_BYTES)
    fillRandom(id)
    id.writeUIntBE(now(), 0, 6)
    id[6] = ((id[6] ?? 0) & 0x0f) | 0x70
    id[8] = ((id[8] ?? 0) & 0x3f) | 0x80
    return id
  }

/** An id as text. */
export const formatId = (id: Uint8Array): string => {
  const hex = Buffer.from(id.buffer, id.byteOffset, id.byteLength).toString('hex')
  const cuts = [0, 8, 12, 16, 20] as const
  return cuts.map((from, at) => hex.slice(from, cuts[at + 1])).join('-')
}

const SHAPE = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i

/** The bytes of an id; undefined where the text is not one of ours. */
export const parseId = (text: string): Uint8Array | undefined =>
  SHAPE.test(text) ? Buffer.from(text.replaceAll('-', ''), 'hex') : undefined

/** The first id of a millisecond. */
export const firstIdAt = (atMs: number): Uint8Array => {
  const id = Buffer.alloc(ID_BYTES)
  id.writeUIntBE(atMs, 0, 6)
  return id
}

/** The earlier of two ids, of which one may be undefined. */
export const earlierId = (
  one: Uint8Array | undefined,
  other: Uint8Array | undefined,
): Uint8Array | undefined => {
  if (one === undefined || other === undefined) return one ?? other
  return Buffer.compare(one, other) <= 0 ? one : other
}

/** Unix milliseconds at which an id was created. */
export const timeOfId = (id: Uint8Array): number =>
  Buffer.from(id.buffer, id.byteOffset, id.byteLength).readUIntBE(0, 6)
