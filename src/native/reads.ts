import type { DataSlice, Encoding } from './account-view.js'
import type { BodySource } from '../shared/http.js'
import type { PointReadLane } from './server/direct-reads.js'
import type { Tip } from './store.js'

/** One condition of a program page; an account must match all. */
export type Filter =
  { readonly dataSize: number } | { readonly offset: number; readonly bytes: Uint8Array }

/**
 * The block that a read is answered by: the newest finalized one, or the newest one (contract:
 * commitment).
 */
export type Commitment = 'finalized' | 'confirmed'

/** Parameters common to all pages. */
export type Page = {
  readonly encoding: Encoding
  readonly dataSlice: DataSlice | undefined
  readonly limit: number
  /** The page starts strictly after this key, which need not exist. */
  readonly after: Uint8Array | undefined
}
export type ProgramPage = Page & {
  readonly program: Uint8Array
  readonly filters: readonly Filter[]
  readonly changedSinceSlot: number | undefined
}
export type OwnerPage = Page & {
  readonly wallet: Uint8Array
  readonly filter: { readonly mint: Uint8Array } | { readonly tokenProgram: 1 | 2 }
}

/** What getPriorityFeeEstimate asks for. */
export type FeeQuery = {
  /** 32 bytes each. */
  readonly accounts: Uint8Array
  /** In place of the accounts: a transaction that writes them. */
  readonly transaction: { readonly text: string; readonly isBase64: boolean } | undefined
  readonly level: FeeLevel
  readonly span: FeeSpan
  readonly includesVotes: boolean
  /** Whether a block without a transaction that locks an account counts as a price of 0 for it. */
  readonly emptyIsZero: boolean
  readonly hasDetails: boolean
  /** Whether it is the value of `{context: {slot}, value}`. */
  readonly hasContext: boolean
}

/** Levels by the addon's numbers; the first six are percentiles. */
export const FEE_LEVELS = {
  Min: 0,
  Low: 1,
  Medium: 2,
  High: 3,
  VeryHigh: 4,
  UnsafeMax: 5,
  recommended: 6,
  all: 7,
} as const
export type FeeLevel = keyof typeof FEE_LEVELS

/** Accounts whose gains by one transaction are one tip. */
export type TipGroup = {
  readonly name: string
  /** 32 bytes each. */
  readonly accounts: Uint8Array
}

/** The newest blocks that count: so many that have transactions to count, or those of a time. */
export type FeeSpan = { readonly blocks: number } | { readonly ms: number }

/**
 * Result JSON: a view into a reused buffer (valid until the next read), or a source to stream from.
 */
export type ReplyBytes = Uint8Array | BodySource

/** The addresses of one list, 32 bytes each, or the error of the first invalid one. */
export type AddressList = Uint8Array | Error

/** A list of addresses that was decoded before its message was parsed. */
export class PackedAddresses {
  readonly #list: AddressList

  constructor(list: AddressList) {
    this.#list = list
  }

  /** 32 bytes for each address. Throws the error of the first invalid one. */
  keys(): Uint8Array {
    if (this.#list instanceof Error) throw this.#list
    return this.#list
  }
}

/** A long message without its lists of addresses. */
export type PackedMessage = {
  /**
   * The message. In place of each list of texts that is the first parameter of a call is an array
   * with one text, `#` and the index in `lists`.
   */
  readonly text: Uint8Array
  readonly lists: readonly AddressList[]
  /** Begin and end of each element of a batch in the original message. */
  readonly elements: Uint32Array
}

/** Bounds of a long message. */
export type PackLimits = {
  readonly batchCountMax: number
  readonly nestingMax: number
  readonly loopBytesMax: number
}

/**
 * The access that a read is for: its replies and threads are bounded beside those of others.
 * Undefined is the service itself.
 */
export type Owner = string | undefined

/** A complete reply of the fast lane. `bytes` is a view into a reused buffer. */
export type FastReply = { readonly bytes: Uint8Array; readonly method: string }

/**
 * Reads of one indexed view. Every read is one snapshot. A read that is too large for the event
 * loop returns a promise. Failures are RpcErrors.
 */
export type Reads = {
  /** The fast lane for the compiled server; undefined if nothing may bypass JavaScript. */
  readonly lane?: PointReadLane
  /** Answers a canonical point read; undefined if the message must be parsed. */
  fast(body: Uint8Array): FastReply | undefined
  /** Takes the lists of addresses out of a long message, on a thread. Keeps a copy of `body`. */
  pack(body: Uint8Array, limits: PackLimits): Promise<PackedMessage>
  /** The newest block of a commitment; undefined before the first. */
  block(commitment: Commitment): Tip | undefined
  latestBlockhash(commitment: Commitment): ReplyBytes
  balance(key: Uint8Array, commitment: Commitment): ReplyBytes
  /** Whether a transaction with this blockhash can still be included. */
  blockhashValidity(blockhash: Uint8Array, commitment: Commitment): ReplyBytes
  /** `{"unchanged":true}` in place of an account that was not written after `changedSinceSlot`. */
  account(
    key: Uint8Array,
    encoding: Encoding,
    slice: DataSlice | undefined,
    owner?: Owner,
    changedSinceSlot?: number,
  ): ReplyBytes | Promise<ReplyBytes>
  accounts(
    keys: Uint8Array,
    encoding: Encoding,
    slice: DataSlice | undefined,
    owner?: Owner,
    changedSinceSlot?: number,
  ): ReplyBytes | Promise<ReplyBytes>
  tokenBalance(key: Uint8Array, changedSinceSlot?: number): ReplyBytes
  tokenSupply(mint: Uint8Array, changedSinceSlot?: number): ReplyBytes
  largestHolders(mint: Uint8Array, owner?: Owner): ReplyBytes | Promise<ReplyBytes>
  /** `percentile` in ten thousandths; 0 is the lowest price. Accounts are 32 bytes each. */
  recentFees(
    accounts: Uint8Array,
    percentile: number,
    spanMs: number | undefined,
    owner?: Owner,
  ): Promise<ReplyBytes>
  feeEstimate(query: FeeQuery, owner?: Owner): Promise<ReplyBytes>
  tipPercentiles(
    groups: readonly TipGroup[],
    spanMs: number | undefined,
    owner?: Owner,
  ): Promise<ReplyBytes>
  programPage(page: ProgramPage, owner?: Owner): Promise<ReplyBytes>
  ownerPage(page: OwnerPage, owner?: Owner): Promise<ReplyBytes>
}

/** Bounds of one read, as the JSON-RPC part has them. */
export type ReadLimits = {
  /** From the call to the last byte, waiting included, in milliseconds. */
  readonly readTimeoutMs: number
  /** Time that one page may scan once it runs, in milliseconds. */
  readonly scanMs: number
  readonly pageReplyBytesMax: number
  /** Results of the fast lane that are kept until the next commit, each of at most 2 KiB. */
  readonly recentResultsMax: number
}
