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

/** Compute budget of a version 1 message. A limit of 0, and one that is not set, allow nothing. */
export type ComputeBudget = {
  readonly hasPriorityFee: boolean
  /** 0 where it is not set. */
  readonly priorityFeeLamports: bigint
  readonly unitLimit: number | undefined
  readonly loadedBytesMax: number | undefined
  /** `undefined` is the default heap. */
  readonly heapBytes: number | undefined
}

/** A parsed signed transaction; its byte fields are views of `bytes`. */
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
  /** Only in version 1: other versions set it by instructions. */
  readonly budget?: ComputeBudget
}

/** True if the header makes a static key writable. */
export const isWritableStatic = (parsed: ParsedTransaction, index: number): boolean =>
  index < parsed.requiredSignatureCount
    ? index < parsed.requiredSignatureCount - parsed.readonlySignedCount
    : index < parsed.keys.length - parsed.readonlyUnsignedCount
