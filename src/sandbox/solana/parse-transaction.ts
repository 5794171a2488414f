import { createReader, fail, KEY_BYTES, SIGNATURE_BYTES } from './transaction-reader.js'
import { parseVersion1, V1_PREFIX } from './parse-version-1.js'

export { TransactionFormatError } from './transaction-reader.js'

/** One instruction with its accounts as indexes into the transaction's keys. */
export type CompiledInstruction = {
  readonly programIdIndex: number
  readonly accounts: Uint8Array
  readonly data: Uint8Array
}

/** Addresses that a version 0 message takes from a lookup table. */
export type TableLookup = {
  readonly table: Uint8Array
  readonly writableIndexes: Uint8Array
  readonly readonlyIndexes: Uint8Array
}

/** What a version 1 message asks for itself; without a limit it may use nothing. */
export type ComputeBudget = {
  readonly priorityFeeLamports: bigint
  readonly unitLimit: number
  readonly loadedBytesMax: number
  /** `undefined` is what every transaction has. */
  readonly heapBytes: number | undefined
}

/** A signed transaction taken apart; its byte fields are views of the bytes it came from. */
export type ParsedTransaction = {
  readonly bytes: Uint8Array
  readonly message: Uint8Array
  readonly signatures: readonly Uint8Array[]
  readonly version: 'legacy' | 0 | 1
  readonly requiredSignatureCount: number
  readonly readonlySignedCount: number
  readonly readonlyUnsignedCount: number
  readonly keys: readonly Uint8Array[]
  readonly recentBlockhash: Uint8Array
  readonly instructions: readonly CompiledInstruction[]
  readonly lookups: readonly TableLookup[]
  /** Of version 1 only: others say it by instructions. */
  readonly budget?: ComputeBudget
}

/** One packet: what the network carries as a single transaction. */
export const TRANSACTION_BYTES_MAX = 1232

/** Account indexes are one byte. */
const KEYS_MAX = 256

/**
 * Takes a transaction apart and checks everything that the virtual machine
 * assumes: LiteSVM aborts the process on bytes that it cannot decode. Throws
 * TransactionFormatError. Signatures are not verified here.
 */
export const parseTransaction = (bytes: Uint8Array): ParsedTransaction => {
  const parsed = bytes[0] === V1_PREFIX ? parseVersion1(bytes) : parseVersion0(bytes)
  sanitize(parsed)
  return parsed
}

/** Both layouts that begin with the signatures. */
const parseVersion0 = (bytes: Uint8Array): ParsedTransaction => {
  if (bytes.length > TRANSACTION_BYTES_MAX)
    fail(`transaction exceeds ${TRANSACTION_BYTES_MAX} bytes`)
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

/** True where the header makes a static key writable. */
export const isWritableStatic = (parsed: ParsedTransaction, index: number): boolean =>
  index < parsed.requiredSignatureCount
    ? index < parsed.requiredSignatureCount - parsed.readonlySignedCount
    : index < parsed.keys.length - parsed.readonlyUnsignedCount
