import {
  accountsOf,
  blockhashOf,
  changedTokens,
  mintAccount,
  poolAccount,
  poolPrefix,
  poolPubkey,
  tokenAccount,
  tokenPrefix,
  tokenPubkey,
  voteAccount,
  type Account,
  type DataSet,
  type Spread,
} from './data.js'

/** Blocks that fill a store and then change it, and their numbers of accounts. */
export type History = {
  /** Few large blocks: filling is not measured. */
  readonly fillBlockAccounts: number
  /** Blocks like those of mainnet, an even number: each second one takes its changes back. */
  readonly clusterBlocks: number
  readonly changeBlocks: number
  readonly changeBlockAccounts: number
}

/** Of a cluster with slots of 200 ms. */
export const BLOCKS_PER_SECOND = 5
/** Transactions of users in a busy block, and the accounts that they write. */
export const USER_TRANSACTIONS = 375
export const USER_WRITES = 4 * USER_TRANSACTIONS
/** Vote accounts that a block writes by itself. */
export const VOTE_WRITES = 800
/** A version of a token account that no block of changes has. */
const CLUSTER_VERSION = 60_000

/** Slot of the first block; like the chain's own, large enough to show a number that is cut off. */
const FIRST_SLOT = 400_000_000

/** The state of a store after its history, account by account, computed without the store. */
export type ExpectedState = {
  readonly set: DataSet
  /** Slot of the newest block. */
  readonly slot: number
  /** Slot of the `nth` block of changes, from 1 on. */
  slotOfChange(nth: number): number
  token(index: number): Account
  mint(index: number): Account
  pool(index: number): Account
  /** True where one of the blocks of changes after this slot touched the token account. */
  isChangedSince(index: number, slot: number): boolean
}

/** One block of a history, as the indexer takes it. */
export type Block = {
  readonly slot: number
  readonly parentSlot: number
  readonly blockhash: Buffer
  readonly parentBlockhash: Buffer
  readonly blockHeight: number
  readonly blockTime: number
  readonly accounts: Account[]
}

export type HistoryBlock = Block & { readonly kind: 'fill' | 'cluster' | 'change' }

/** Height and time of the first block. */
const FIRST_HEIGHT = 380_000_000
const FIRST_TIME = 1_800_000_000

/** The block of a slot, on top of the slot before. */
export const blockAt = (set: DataSet, slot: number, accounts: Account[]): Block => ({
  slot,
  parentSlot: slot - 1,
  blockhash: blockhashOf(set, slot),
  parentBlockhash: blockhashOf(set, slot - 1),
  blockHeight: FIRST_HEIGHT + slot - FIRST_SLOT,
  blockTime: FIRST_TIME + slot - FIRST_SLOT,
  accounts,
})

/** The first half of the blocks of changes is uniform, the second skewed. */
export const spreadOf = (history: History, nth: number): Spread =>
  nth * 2 <= history.changeBlocks ? 'uniform' : 'skewed'

const changeOf = (history: History, nth: number) => ({
  count: history.changeBlockAccounts,
  spread: spreadOf(history, nth),
})

/** Every block of a history: those that fill the store, then those that change it. */
export function* blocksOf(set: DataSet, history: History): Generator<HistoryBlock> {
  let slot = FIRST_SLOT - 1
  const next = (kind: HistoryBlock['kind'], accounts: Account[]): HistoryBlock => {
    slot += 1
    return { kind, ...blockAt(set, slot, accounts) }
  }
  let accounts: Account[] = []
  for (const account of accountsOf(set))
    if (accounts.push(account) === history.fillBlockAccounts) {
      yield next('fill', accounts)
      accounts = []
    }
  if (accounts.length > 0) yield next('fill', accounts)
  for (let nth = 0; nth < history.clusterBlocks; nth++) {
    const pair = Math.floor(nth / 2)
    const version = nth % 2 === 0 ? CLUSTER_VERSION : 0
    yield next('cluster', clusterWrites(set, pair, { version, slot: slot + 1 }))
  }
  for (let nth = 1; nth <= history.changeBlocks; nth++) {
    const changed = changedTokens(set, nth, changeOf(history, nth))
    yield next(
      'change',
      Array.from(changed, index => tokenAccount(set, index, nth)),
    )
  }
}

/** What a block of mainnet writes: token accounts by transactions, vote accounts by itself. */
export const clusterWrites = (
  set: DataSet,
  nth: number,
  { version, slot }: { readonly version: number; readonly slot: number },
): Account[] => {
  const changed = changedTokens(set, nth, { count: USER_WRITES, spread: 'skewed' })
  return [
    ...Array.from(changed, index => tokenAccount(set, index, version)),
    ...Array.from({ length: VOTE_WRITES }, (_, index) => voteAccount(set, index, slot)),
  ]
}

const fillBlockCount = (set: DataSet, history: History): number =>
  Math.ceil((set.mintCount + set.poolCount + set.tokenAccountCount) / history.fillBlockAccounts)

export const createExpectedState = (set: DataSet, history: History): ExpectedState => {
  const versions = new Uint16Array(set.tokenAccountCount)
  for (let nth = 1; nth <= history.changeBlocks; nth++)
    for (const index of changedTokens(set, nth, changeOf(history, nth))) versions[index] = nth
  const lastSlotBefore = FIRST_SLOT + fillBlockCount(set, history) + history.clusterBlocks - 1
  const slotOfChange = (nth: number) => lastSlotBefore + nth
  return {
    set,
    slot: slotOfChange(history.changeBlocks),
    slotOfChange,
    token: index => tokenAccount(set, index, versions[index] ?? 0),
    mint: index => mintAccount(set, index),
    pool: index => poolAccount(set, index),
    isChangedSince: (index, slot) => slotOfChange(versions[index] ?? 0) > slot,
  }
}

/** Every account as the history leaves it. */
export function* finalAccounts(expected: ExpectedState): Generator<Account> {
  const { mintCount, poolCount, tokenAccountCount } = expected.set
  for (let index = 0; index < mintCount; index++) yield expected.mint(index)
  for (let index = 0; index < poolCount; index++) yield expected.pool(index)
  for (let index = 0; index < tokenAccountCount; index++) yield expected.token(index)
}

/** The first `limit` of the matching accounts, in the order of their pubkeys' bytes. */
const firstOf = (options: {
  readonly count: number
  readonly limit: number
  readonly matches: (index: number) => boolean
  readonly prefix: (index: number) => number
  readonly pubkey: (index: number) => Buffer
}): number[] => {
  const { count, limit, matches, prefix, pubkey } = options
  const found: number[] = []
  const prefixes: number[] = []
  for (let index = 0; index < count; index++)
    if (matches(index)) {
      found.push(index)
      prefixes.push(prefix(index))
    }
  // Sorting numbers finds the few keys that can be on the page; only those are sorted as bytes.
  const last = Float64Array.from(prefixes).toSorted()[limit - 1] ?? Infinity
  return found
    .filter((_, nth) => (prefixes[nth] ?? 0) <= last)
    .toSorted((a, b) => Buffer.compare(pubkey(a), pubkey(b)))
    .slice(0, limit)
}

/** The page of token accounts that match. */
export const tokenPage = (
  expected: ExpectedState,
  limit: number,
  matches: (index: number) => boolean,
): Account[] =>
  firstOf({
    count: expected.set.tokenAccountCount,
    limit,
    matches,
    prefix: index => tokenPrefix(expected.set, index),
    pubkey: index => tokenPubkey(expected.set, index),
  }).map(expected.token)

/** The page of pool accounts that match. */
export const poolPage = (
  expected: ExpectedState,
  limit: number,
  matches: (index: number) => boolean,
): Account[] =>
  firstOf({
    count: expected.set.poolCount,
    limit,
    matches,
    prefix: index => poolPrefix(expected.set, index),
    pubkey: index => poolPubkey(expected.set, index),
  }).map(expected.pool)
