import type { BodySource } from './http.js'

/** Encodings of account data, as the kernel numbers them. */
export const ENCODINGS = { base64: 0, base58: 1, 'base64+zstd': 2, jsonParsed: 3 } as const
export type Encoding = keyof typeof ENCODINGS

/** Part of an account's data; `undefined` is the whole. */
export type DataSlice = { readonly offset: number; readonly length: number }

/** The newest block of a store. */
export type Tip = {
  readonly slot: number
  readonly parentSlot: number
  readonly blockHeight: number
  readonly blockhash: string
  readonly blockTime: number | null
}

/** One condition of a program page; all must hold. */
export type Filter =
  { readonly dataSize: number } | { readonly offset: number; readonly bytes: Uint8Array }

/** What every page has in common. */
export type Page = {
  readonly encoding: Encoding
  readonly dataSlice: DataSlice | undefined
  readonly limit: number
  /** The page starts strictly after this key, also where it is gone. */
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

/** Result JSON: a view into a reused buffer (valid until the next read), or a source to stream from. */
export type ReplyBytes = Uint8Array | BodySource

/**
 * One indexed view, as the methods see it. Every read is one snapshot. A read that is too large for the
 * event loop answers a promise. Failures are RpcErrors.
 */
export type Reads = {
  /** The whole reply to a canonical point read, or undefined where the ordinary way must answer. */
  fast(body: Uint8Array): Uint8Array | undefined
  tip(): Tip | undefined
  latestBlockhash(): ReplyBytes
  account(
    key: Uint8Array,
    encoding: Encoding,
    slice: DataSlice | undefined,
  ): ReplyBytes | Promise<ReplyBytes>
  accounts(
    keys: Uint8Array,
    encoding: Encoding,
    slice: DataSlice | undefined,
  ): ReplyBytes | Promise<ReplyBytes>
  tokenBalance(key: Uint8Array): ReplyBytes
  tokenSupply(mint: Uint8Array): ReplyBytes
  largestHolders(mint: Uint8Array): ReplyBytes
  programPage(page: ProgramPage): Promise<ReplyBytes>
  ownerPage(page: OwnerPage): Promise<ReplyBytes>
}
