import { toMapKey } from '../solana/addresses.js'
import type {
  AccountEntry,
  BlockEntry,
  FeedEntry,
  SlotEntry,
  TransactionEntry,
} from './feed-entry.js'
import { encodeBlock, encodeLabel, replaceData, SLOT_STATUS } from './messages.js'
import type {
  AccountDataFilter,
  AccountsFilter,
  BlocksFilter,
  CommitmentNumber,
  DataSlice,
  SlotsFilter,
  SubscribeRequest,
  TransactionsFilter,
} from './request.js'

type Test<T> = (value: T) => boolean
/** The encoded label of a filter, and its test. */
type Labelled<T> = readonly [label: Buffer, test: Test<T>]

const TOKEN_ACCOUNT_BYTES = 165
const MULTISIG_BYTES = 355
const STATE_AT = 108
const ACCOUNT_TAG = 2

/**
 * An initialized token account of either program: of the plain length, or with extensions after
 * the account tag.
 */
const isTokenAccount = (data: Uint8Array): boolean => {
  if (data.length < TOKEN_ACCOUNT_BYTES || data.length === MULTISIG_BYTES) return false
  if (data[STATE_AT] !== 1 && data[STATE_AT] !== 2) return false
  return data.length === TOKEN_ACCOUNT_BYTES || data[TOKEN_ACCOUNT_BYTES] === ACCOUNT_TAG
}

const dataOf = ({ body, dataAt, dataByteCount }: AccountEntry): Buffer =>
  body.subarray(dataAt, dataAt + dataByteCount)

const testData = (filter: AccountDataFilter): Test<AccountEntry> => {
  switch (filter.kind) {
    case 'memcmp': {
      const { offset, bytes } = filter
      const end = offset + bytes.length
      return entry =>
        entry.dataByteCount >= end &&
        Buffer.compare(dataOf(entry).subarray(offset, end), bytes) === 0
    }
    case 'datasize':
      return entry => BigInt(entry.dataByteCount) === filter.byteCount
    case 'tokenAccountState':
      return entry => isTokenAccount(dataOf(entry)) === filter.wanted
    case 'lamports': {
      const { compare, value } = filter
      if (compare === 'eq') return ({ lamports }) => lamports === value
      if (compare === 'ne') return ({ lamports }) => lamports !== value
      return compare === 'lt'
        ? ({ lamports }) => lamports < value
        : ({ lamports }) => lamports > value
    }
  }
}

const KEY_CHARS = 32

const splitKeys = (keys: string): string[] =>
  Array.from({ length: keys.length / KEY_CHARS }, (_none, index) =>
    keys.slice(index * KEY_CHARS, (index + 1) * KEY_CHARS),
  )

const toKeys = (pubkeys: readonly Uint8Array[]): Set<string> => new Set(pubkeys.map(toMapKey))

/** Fields are joined by AND, values of a list by OR; an empty filter matches everything. */
const testAccounts = (filter: AccountsFilter): Test<AccountEntry> => {
  const tests = filter.filters.map(testData)
  const accounts = toKeys(filter.accounts)
  const owners = toKeys(filter.owners)
  const { hasSignature } = filter
  if (hasSignature !== undefined) tests.push(entry => entry.hasSignature === hasSignature)
  if (accounts.size > 0) tests.push(({ pubkey }) => accounts.has(pubkey))
  if (owners.size > 0) tests.push(({ owner }) => owners.has(owner))
  return update => tests.every(test => test(update))
}

const testTransactions = (filter: TransactionsFilter): Test<TransactionEntry> => {
  const tests: Test<TransactionEntry>[] = []
  const { isFailed, signature, include, exclude, required } = filter
  // The dev chain has no votes.
  if (filter.isVote === true) tests.push(() => false)
  if (isFailed !== undefined) tests.push(entry => entry.isFailed === isFailed)
  if (signature !== undefined) {
    const wanted = toMapKey(signature)
    tests.push(entry => entry.signature === wanted)
  }
  if (include.length + exclude.length + required.length > 0) {
    const [included, excluded, demanded] = [toKeys(include), toKeys(exclude), toKeys(required)]
    tests.push(entry => {
      const keys = new Set(splitKeys(entry.keys))
      const isThere = (key: string): boolean => keys.has(key)
      return (
        (include.length === 0 || [...included].some(isThere)) &&
        ![...excluded].some(isThere) &&
        [...demanded].every(isThere)
      )
    })
  }
  return entry => tests.every(test => test(entry))
}

const testSlots =
  (filter: SlotsFilter, commitment: CommitmentNumber): Test<SlotEntry> =>
  ({ status }) =>
    (filter.hasInterslotUpdates || SLOT_STATUS[status] <= SLOT_STATUS.finalized) &&
    (!filter.isByCommitment || SLOT_STATUS[status] === commitment)

const label = <F, T>(
  filters: ReadonlyMap<string, F>,
  toTest: (filter: F) => Test<T>,
): Labelled<T>[] => [...filters].map(([name, filter]) => [encodeLabel(name), toTest(filter)])

/** Labels of the filters that `value` passes. */
const labelsOf = <T>(filters: readonly Labelled<T>[], value: T): Buffer[] => {
  const labels: Buffer[] = []
  for (const [encoded, test] of filters) if (test(value)) labels.push(encoded)
  return labels
}

/** Concatenates slices of the data; omits one that exceeds the data. */
const cut = (data: Uint8Array, slices: readonly DataSlice[]): Buffer =>
  Buffer.concat(
    slices
      .filter(({ offset, length }) => offset + length <= data.length)
      .map(({ offset, length }) => data.subarray(offset, offset + length)),
  )

/**
 * Converts an update to the parts of a message for one subscriber; empty if no filter matches.
 */
export type ToMessage = (entry: FeedEntry) => Buffer[]

export const createFilter = (request: SubscribeRequest): ToMessage => {
  const accounts = label(request.accounts, testAccounts)
  const slots = label(request.slots, filter => testSlots(filter, request.commitment))
  const transactions = label(request.transactions, testTransactions)
  const statuses = label(request.transactionsStatus, testTransactions)
  const blocks = [...request.blocks].map(([name, filter]): [Buffer, BlocksFilter] => [
    encodeLabel(name),
    filter,
  ])
  const blocksMeta = request.blocksMeta.map(encodeLabel)
  const entries = request.entries.map(encodeLabel)
  const footers = [...request.footers].map(([name, hasCertificates]): [Buffer, boolean] => [
    encodeLabel(name),
    hasCertificates,
  ])
  const { slices } = request

  const labelsFor = (entry: Exclude<FeedEntry, BlockEntry>): Buffer[] => {
    switch (entry.kind) {
      case 'account':
        return labelsOf(accounts, entry)
      case 'transaction':
        return labelsOf(transactions, entry)
      case 'transactionStatus':
        return labelsOf(statuses, entry)
      case 'slot':
        return labelsOf(slots, entry)
      case 'blockMeta':
        return [...blocksMeta]
      case 'entry':
        return [...entries]
      case 'blockFooter':
        return footers
          .filter(([, hasCertificates]) => hasCertificates === entry.hasCertificates)
          .map(([name]) => name)
    }
  }
  /** Encoded on demand: the log has each account once. */
  const toBlocks = (entry: BlockEntry): Buffer[] => {
    const wants = (hasAccounts: boolean): Buffer[] =>
      blocks.filter(([, filter]) => filter.hasAccounts === hasAccounts).map(([name]) => name)
    const whole = wants(true)
    const labels = whole.length > 0 ? whole : wants(false)
    const bodies = whole.length > 0 ? entry.accounts.map(({ body }) => body) : []
    const sent = entry.isShortened ? bodies.slice(0, -1) : bodies
    return labels.length === 0
      ? []
      : [
          ...labels,
          encodeBlock(entry.block, sent, entry.atMs, {
            announced: bodies.length,
            bank: entry.bank,
          }),
        ]
  }
  return entry => {
    if (entry.kind === 'block') return toBlocks(entry)
    const parts = labelsFor(entry)
    if (parts.length === 0) return parts
    const isCut = entry.kind === 'account' && slices.length > 0
    parts.push(isCut ? replaceData(entry.body, cut(dataOf(entry), slices)) : entry.body)
    return parts
  }
}
