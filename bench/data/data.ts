import bs58 from 'bs58'

/** A data set. Everything in it follows from these numbers, so two runs measure the same. */
export type DataSet = {
  readonly seed: number
  readonly tokenAccountCount: number
  /** Mints; mint 0 has about a tenth of the token accounts, the last ones a handful. */
  readonly mintCount: number
  /** Wallets; each `WHALE_EVERY`th token account belongs to wallet 0. */
  readonly walletCount: number
  /** Accounts of a program that is no token program, of `DISCRIMINATORS` kinds. */
  readonly poolCount: number
}

/** One account as it is after its newest change. */
export type Account = {
  readonly pubkey: Buffer
  readonly lamports: bigint
  readonly rentEpoch: bigint
  readonly executable: boolean
  readonly owner: Buffer
  readonly data: Buffer
}

export const TOKEN_PROGRAM = Buffer.from(bs58.decode('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'))
export const TOKEN_ACCOUNT_BYTES = 165
const MINT_BYTES = 82
const VOTE_PROGRAM = Buffer.from(bs58.decode('Vote111111111111111111111111111111111111111'))
const VOTE_ACCOUNT_BYTES = 3_762
/** Kinds of pool accounts, distinguished by their first eight bytes. */
export const DISCRIMINATORS = 4
/** One token account in this many is wallet 0's: enough for a full page of one wallet. */
const WHALE_EVERY = 50
/** Rent epoch of rent-exempt accounts. */
const RENT_EXEMPT = 18446744073709551615n
const SAMPLE = 2 ** 32

const KINDS = { wallet: 1, mint: 2, token: 3, pool: 4, program: 5, block: 6, vote: 7 } as const
type Kind = keyof typeof KINDS

/** A bijection of 32 bits that maps consecutive numbers to unrelated ones. */
const mix = (value: number): number => {
  let h = value | 0
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}

const wordOf = (seed: number, stream: number, index: number): number =>
  mix(mix(seed ^ Math.imul(stream, 0x9e3779b1)) ^ index)

const pubkeyOf = (seed: number, kind: Kind, index: number): Buffer => {
  const pubkey = Buffer.allocUnsafe(32)
  for (let word = 0; word < 8; word++)
    pubkey.writeUInt32BE(wordOf(seed, KINDS[kind] * 16 + word, index), word * 4)
  return pubkey
}

/**
 * The first six bytes of a pubkey as a number that sorts as they do: cheaper than the pubkey
 * itself.
 */
const prefixOf = (seed: number, kind: Kind, index: number): number =>
  wordOf(seed, KINDS[kind] * 16, index) * 0x1_0000 +
  (wordOf(seed, KINDS[kind] * 16 + 1, index) >>> 16)

export const mintPubkey = (set: DataSet, index: number): Buffer => pubkeyOf(set.seed, 'mint', index)
export const walletPubkey = (set: DataSet, index: number): Buffer =>
  pubkeyOf(set.seed, 'wallet', index)
export const tokenPubkey = (set: DataSet, index: number): Buffer =>
  pubkeyOf(set.seed, 'token', index)
export const tokenPrefix = (set: DataSet, index: number): number =>
  prefixOf(set.seed, 'token', index)
export const poolPrefix = (set: DataSet, index: number): number => prefixOf(set.seed, 'pool', index)
export const poolPubkey = (set: DataSet, index: number): Buffer => pubkeyOf(set.seed, 'pool', index)
export const poolProgram = (set: DataSet): Buffer => pubkeyOf(set.seed, 'program', 0)

export const blockhashOf = (set: DataSet, slot: number): Buffer => pubkeyOf(set.seed, 'block', slot)

/** Which mint a token account is of: skewed, as on the chain. */
export const mintOf = (set: DataSet, index: number): number =>
  Math.floor(set.mintCount * (wordOf(set.seed, 101, index) / SAMPLE) ** 3)

/** Which wallet owns a token account. */
export const walletOf = (set: DataSet, index: number): number =>
  index % WHALE_EVERY === 0
    ? 0
    : Math.floor(set.walletCount * (wordOf(set.seed, 102, index) / SAMPLE))

export const discriminator = (set: DataSet, kind: number): Buffer => {
  const bytes = Buffer.allocUnsafe(8)
  bytes.writeUInt32BE(wordOf(set.seed, 103, kind), 0)
  bytes.writeUInt32BE(wordOf(set.seed, 104, kind), 4)
  return bytes
}

/** A token account after its `version`th change; only its amount changes. */
export const tokenAccount = (set: DataSet, index: number, version = 0): Account => {
  const data = Buffer.alloc(TOKEN_ACCOUNT_BYTES)
  mintPubkey(set, mintOf(set, index)).copy(data, 0)
  walletPubkey(set, walletOf(set, index)).copy(data, 32)
  data.writeUInt32LE(wordOf(set.seed, 1_000 + 2 * version, index), 64)
  data.writeUInt32LE(wordOf(set.seed, 1_001 + 2 * version, index) & 0xff, 68)
  data[108] = 1
  return {
    pubkey: tokenPubkey(set, index),
    lamports: 1_488_440n,
    rentEpoch: RENT_EXEMPT,
    executable: false,
    owner: TOKEN_PROGRAM,
    data,
  }
}

/** A vote account as the block of a slot writes it: with Alpenglow, by no transaction. */
export const voteAccount = (set: DataSet, index: number, slot: number): Account => {
  const data = Buffer.alloc(VOTE_ACCOUNT_BYTES)
  data.writeUInt32LE(3)
  data.writeUInt32LE(slot, 200)
  return {
    pubkey: pubkeyOf(set.seed, 'vote', index),
    lamports: 19_761_200n,
    rentEpoch: RENT_EXEMPT,
    executable: false,
    owner: VOTE_PROGRAM,
    data,
  }
}

export const mintAccount = (set: DataSet, index: number): Account => {
  const data = Buffer.alloc(MINT_BYTES)
  data.writeUInt32LE(wordOf(set.seed, 107, index), 36)
  data[44] = 6
  data[45] = 1
  return {
    pubkey: mintPubkey(set, index),
    lamports: 1_066_800n,
    rentEpoch: RENT_EXEMPT,
    executable: false,
    owner: TOKEN_PROGRAM,
    data,
  }
}

/**
 * An account of the other program: a discriminator, then bytes that do not compress, 200 to 648 in
 * all.
 */
export const poolAccount = (set: DataSet, index: number): Account => {
  const data = Buffer.allocUnsafe(200 + (wordOf(set.seed, 108, index) % 8) * 64)
  discriminator(set, index % DISCRIMINATORS).copy(data, 0)
  for (let at = 8; at < data.length; at += 4)
    data.writeUInt32LE(wordOf(set.seed, 200 + at, index), at)
  return {
    pubkey: poolPubkey(set, index),
    lamports: 5_000_000_000n + BigInt(index),
    rentEpoch: RENT_EXEMPT,
    executable: false,
    owner: poolProgram(set),
    data,
  }
}

/** Every account of the set, before any change. */
export function* accountsOf(set: DataSet): Generator<Account> {
  for (let index = 0; index < set.mintCount; index++) yield mintAccount(set, index)
  for (let index = 0; index < set.poolCount; index++) yield poolAccount(set, index)
  for (let index = 0; index < set.tokenAccountCount; index++) yield tokenAccount(set, index)
}

/**
 * How changes spread over the accounts: evenly, or most of them over a few busy ones, as on a real
 * chain.
 */
export type Spread = 'uniform' | 'skewed'

/**
 * Of a skewed block, this share of the changes falls on the busy accounts: the first in this share
 * of the set.
 */
const BUSY_CHANGES = 0.9
const BUSY_ACCOUNTS = 0.02

/**
 * Token accounts that the `nth` block of changes touches, from 1 on; `tokenAccount(…, nth)` is
 * what it leaves.
 */
export const changedTokens = (
  set: DataSet,
  nth: number,
  { count, spread }: { readonly count: number; readonly spread: Spread },
): Uint32Array => {
  const busyCount = Math.ceil(set.tokenAccountCount * BUSY_ACCOUNTS)
  const busyChanges = spread === 'skewed' ? count * BUSY_CHANGES : 0
  return Uint32Array.from(
    { length: count },
    (_, position) =>
      wordOf(set.seed, 500 + nth, position) %
      (position < busyChanges ? busyCount : set.tokenAccountCount),
  )
}

/**
 * `count` different token accounts, spread over the set: a cache of the processor must not hold
 * them all.
 */
export const sampleTokens = (set: DataSet, count: number): number[] =>
  Array.from({ length: count }, (_, nth) =>
    Math.floor(
      (nth * set.tokenAccountCount + (wordOf(set.seed, 109, nth) % set.tokenAccountCount)) / count,
    ),
  )

/** One line that names the set in a report. */
export const describeDataSet = (set: DataSet): string =>
  `seed ${set.seed}: ${set.tokenAccountCount} token accounts of ${set.mintCount} mints and ` +
  `${set.walletCount} wallets, ${set.poolCount} accounts of another program`
