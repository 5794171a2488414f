import { decodeValue, encodeValue } from './table.js'
import { TABLES, type StoredAccess } from './tables.js'

/** An access as bytes, the same that the store has. */
export const encodeAccess = (access: StoredAccess): Buffer => encodeValue(TABLES.accesses, access)
export const decodeAccess = (bytes: Uint8Array): StoredAccess => decodeValue(TABLES.accesses, bytes)
