import { createReader, fail, KEY_BYTES, SIGNATURE_BYTES } from './transaction-reader.js'
import { parseVersion1, V1_PREFIX } from './parse-version-1.js'
import type { ParsedTransaction } from './transaction.js'

export { TransactionFormatError } from './transaction-reader.js'

/** One packet: the greatest size of a transaction before version 1. */
const PACKET_BYTES_MAX = 1232

/** Account indexes are one byte. */
const KEYS_MAX = 256

/**
 * Parses a transaction and checks everything that the virtual machine assumes: LiteSVM aborts the
 * process on bytes that it cannot decode. Does not verify signatures. Throws
 * TransactionFormatError.
 */
export const parseTransaction = (bytes: Uint8Array): ParsedTransaction => {
  const parsed = bytes[0] === V1_PREFIX ? parseVersion1(bytes) : parseVersion0(bytes)
  sanitize(parsed)
  return parsed
}

/** Legacy and version 0: the layouts that begin with the signatures. */
const parseVersion0 = (bytes: Uint8Array): ParsedTransaction => {
  if (bytes.length > PACKET_BYTES_MAX) fail(`transaction exceeds ${PACKET_BYTES_MAX} bytes`)
  const reader = createReader(bytes)
  const signatures = reader.list(() => reader.take(SIGNATURE_BYTES))
  const messageAt = reader.position()
  const isVersioned = reader.peek() >= 128
  const version = isVersioned ? reader.byte() & 127 : 0
  if (version !== 0) fail(`message version ${version} is not supported`)
  const requiredSignatureCount = reader.byte()
  const readonlySignedCount = reader.byte()
  const readonlyUnsignedCount = reader.byte()
  const keys = reader.list(() => reader.take(KEY_BYTES))
  const recentBlockhash = reader.take(KEY_BYTES)
  const instructions = reader.list(() => ({
    programIdIndex: reader.byte(),
    accounts: reader.byteList(),
    data: reader.byteList(),
  }))
  const lookups = isVersioned
    ? reader.list(() => ({
        table: reader.take(KEY_BYTES),
        writableIndexes: reader.byteList(),
        readonlyIndexes: reader.byteList(),
      }))
    : []
  if (reader.position() !== bytes.length) fail('bytes follow the transaction')
  return {
    bytes,
    message: bytes.subarray(messageAt),
    signatures,
    version: isVersioned ? 0 : 'legacy',
    requiredSignatureCount,
    readonlySignedCount,
    readonlyUnsignedCount,
    keys,
    recentBlockhash,
    instructions,
    lookups,
  }
}

const sanitize = (parsed: ParsedTransaction): void => {
  const { keys, lookups, requiredSignatureCount } = parsed
  if (requiredSignatureCount !== parsed.signatures.length)
    fail('signature count differs from the header')
  if (parsed.readonlySignedCount >= requiredSignatureCount) fail('no writable signer')
  if (requiredSignatureCount + parsed.readonlyUnsignedCount > keys.length)
    fail('header exceeds the keys')
  let keyCount = keys.length
  for (const { writableIndexes, readonlyIndexes } of lookups) {
    if (writableIndexes.length + readonlyIndexes.length === 0) fail('a table lookup is empty')
    keyCount += writableIndexes.length + readonlyIndexes.length
  }
  if (keyCount > KEYS_MAX) fail(`more than ${KEYS_MAX} account keys`)
  for (const { programIdIndex, accounts } of parsed.instructions) {
    if (programIdIndex === 0 || programIdIndex >= keys.length) fail('program index is out of range')
    if (accounts.some(index => index >= keyCount)) fail('account index is out of range')
  }
}
