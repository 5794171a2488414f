import { createHash } from 'node:crypto'
import { Packr } from 'msgpackr'
import { ID_BYTES } from './submission-id.js'

// Plain maps, which any msgpack tool can read.
const packr = new Packr({ useRecords: false })
export const pack = (value: object): Buffer => packr.pack(value)
export const unpack = (bytes: Uint8Array): unknown => packr.unpack(bytes)

/** An entry of the write-ahead log. */
export const toEntry = (id: Uint8Array, submission: object): Buffer =>
  Buffer.concat([id, pack(submission)])

/** Bytes of an access in a key. */
export const KEY_BYTES = 16

/** An access in a key: of equal length, whatever its id is. */
export const accessKey = (accessId: string): Buffer =>
  createHash('sha256').update(accessId).digest().subarray(0, KEY_BYTES)

/** Before and after every id. */
export const FIRST_ID = new Uint8Array(ID_BYTES)
export const LAST_ID = new Uint8Array(ID_BYTES).fill(0xff)

/** Access ‖ id. */
export const accessRow = (accessId: string, id: Uint8Array): Buffer =>
  Buffer.concat([accessKey(accessId), id])

/** Characters of a signature in a key: 140 bits of it. */
const SIGNATURE_CHARS = 24

/** Signature ‖ `accessRow`: the newest submissions of a signature are found by its access alone. */
export const signatureKey = (signature: string, row: Uint8Array): Buffer =>
  Buffer.concat([
    Buffer.from(signature.slice(0, SIGNATURE_CHARS).padEnd(SIGNATURE_CHARS), 'latin1'),
    row,
  ])
