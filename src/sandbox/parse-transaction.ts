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

/** A signed transaction taken apart; its byte fields are views of the bytes it came from. */
export type ParsedTransaction = {
  readonly bytes: Uint8Array
  readonly message: Uint8Array
  readonly signatures: readonly Uint8Array[]
  readonly version: 'legacy' | 0
  readonly requiredSignatureCount: number
  readonly readonlySignedCount: number
  readonly readonlyUnsignedCount: number
  readonly keys: readonly Uint8Array[]
  readonly recentBlockhash: Uint8Array
  readonly instructions: readonly CompiledInstruction[]
  readonly lookups: readonly TableLookup[]
}

/** Why bytes are no transaction, in words. */
export class TransactionFormatError extends Error {
  override readonly name = 'TransactionFormatError'
}

/** One packet: what the network carries as a single transaction. */
export const TRANSACTION_BYTES_MAX = 1232

const KEY_BYTES = 32
const SIGNATURE_BYTES = 64
/** Account indexes are one byte. */
const KEYS_MAX = 256

const fail = (reason: string): never => {
  throw new TransactionFormatError(reason)
}

const createReader = (bytes: Uint8Array) => {
  let at = 0
  const byte = (): number => bytes[at++] ?? fail('transaction is truncated')
  const take = (byteCount: number): Uint8Array => {
    if (byteCount > bytes.length - at) fail('transaction is truncated')
    at += byteCount
    return bytes.subarray(at - byteCount, at)
  }
  /** Length prefix of one to three bytes; only the shortest form counts. */
  const length = (): number => {
    let value = 0
    for (let shift = 0; shift < 21; shift += 7) {
      const next = byte()
      value |= (next & 127) << shift
      if (next >= 128) continue
      if (next === 0 && shift > 0) fail('length prefix is not in its shortest form')
      return value > 0xffff ? fail('length prefix is over 65535') : value
    }
    return fail('length prefix is longer than 3 bytes')
  }
  const list = <T>(item: () => T): T[] => Array.from({ length: length() }, item)
  return {
    byte,
    take,
    list,
    byteList: () => take(length()),
    position: () => at,
    peek: () => bytes[at] ?? fail('transaction is truncated'),
  }
}

/**
 * Takes a legacy or version 0 transaction apart and checks everything that the virtual machine
 * assumes: LiteSVM aborts the process on bytes that it cannot decode. Throws
 * TransactionFormatError. Signatures are not verified here.
 */
export const parseTransaction = (bytes: Uint8Array): ParsedTransaction => {
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
  const parsed: ParsedTransaction = {
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
  sanitize(parsed)
  return parsed
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
