import type { ComputeBudget, ParsedTransaction } from './transaction.js'
import { createReader, fail, KEY_BYTES, SIGNATURE_BYTES } from './transaction-reader.js'

/** First byte of a version 1 transaction; other layouts begin with a count of signatures. */
export const V1_PREFIX = 0x81

const BYTES_MAX = 4096
const SIGNERS_MAX = 12
const KEYS_MAX = 64
const INSTRUCTIONS_MAX = 64
const HEAP_BYTES_MIN = 32 * 1024
const HEAP_BYTES_MAX = 256 * 1024
const HEAP_STEP = 1024

/** Bits for the words of the budget that follow the keys. The fee has two words and two bits. */
const MASK = { priorityFee: 0b11, unitLimit: 0b100, loadedBytesMax: 0b1000, heapBytes: 0b1_0000 }
const MASK_ALL = 0b1_1111

/** Parses a version 1 transaction. Throws TransactionFormatError. */
export const parseVersion1 = (bytes: Uint8Array): ParsedTransaction => {
  if (bytes.length > BYTES_MAX) fail(`transaction exceeds ${BYTES_MAX} bytes`)
  const reader = createReader(bytes)
  reader.byte()
  const requiredSignatureCount = reader.byte()
  const readonlySignedCount = reader.byte()
  const readonlyUnsignedCount = reader.byte()
  const mask = reader.word()
  const recentBlockhash = reader.take(KEY_BYTES)
  const instructionCount = reader.byte()
  const keyCount = reader.byte()
  if (requiredSignatureCount > SIGNERS_MAX) fail(`more than ${SIGNERS_MAX} signatures`)
  if (instructionCount > INSTRUCTIONS_MAX) fail(`more than ${INSTRUCTIONS_MAX} instructions`)
  if (keyCount > KEYS_MAX) fail(`more than ${KEYS_MAX} account keys`)
  const keys = Array.from({ length: keyCount }, () => reader.take(KEY_BYTES))
  const budget = readBudget(mask, reader.word)
  const heads = Array.from({ length: instructionCount }, () => ({
    programIdIndex: reader.byte(),
    accountCount: reader.byte(),
    dataByteCount: reader.byte() + reader.byte() * 256,
  }))
  const instructions = heads.map(({ programIdIndex, accountCount, dataByteCount }) => ({
    programIdIndex,
    accounts: reader.take(accountCount),
    data: reader.take(dataByteCount),
  }))
  const message = bytes.subarray(0, reader.position())
  const signatures = Array.from({ length: requiredSignatureCount }, () =>
    reader.take(SIGNATURE_BYTES),
  )
  if (reader.position() !== bytes.length) fail('bytes follow the transaction')
  return {
    bytes,
    message,
    signatures,
    version: 1,
    requiredSignatureCount,
    readonlySignedCount,
    readonlyUnsignedCount,
    keys,
    recentBlockhash,
    instructions,
    lookups: [],
    budget,
  }
}

const readBudget = (mask: number, word: () => number): ComputeBudget => {
  if ((mask & ~MASK_ALL) !== 0) fail('the config mask has unknown bits')
  const has = (bits: number): boolean => (mask & bits) === bits
  if (!has(MASK.priorityFee) && (mask & MASK.priorityFee) !== 0) fail('half a priority fee')
  const lowWord = has(MASK.priorityFee) ? BigInt(word()) : 0n
  const highWord = has(MASK.priorityFee) ? BigInt(word()) : 0n
  const unitLimit = has(MASK.unitLimit) ? word() : undefined
  const loadedBytesMax = has(MASK.loadedBytesMax) ? word() : undefined
  const heapBytes = has(MASK.heapBytes) ? word() : undefined
  const isHeap = (value: number): boolean =>
    value >= HEAP_BYTES_MIN && value <= HEAP_BYTES_MAX && value % HEAP_STEP === 0
  if (heapBytes !== undefined && !isHeap(heapBytes)) fail('heap size is out of range')
  return {
    hasPriorityFee: has(MASK.priorityFee),
    priorityFeeLamports: lowWord | (highWord << 32n),
    unitLimit,
    loadedBytesMax,
    heapBytes,
  }
}
