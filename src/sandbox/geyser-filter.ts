import { toMapKey } from './addresses.js'
import type { AccountUpdate, TransactionRecord } from './block.js'
import type { Entry } from './geyser-log.js'
import { encodeAccount, encodeLabel, SLOT_STATUS } from './geyser-messages.js'
import type {
  AccountDataFilter,
  AccountsFilter,
  CommitmentNumber,
  DataSlice,
  SlotsFilter,
  SubscribeRequest,
  TransactionsFilter,
} from './geyser-request.js'

type Test<T> = (value: T) => boolean
/** The encoded label of a filter and what passes it. */
type Labelled<T> = readonly [label: Buffer, test: Test<T>]

const TOKEN_ACCOUNT_BYTES = 165
const MULTISIG_BYTES = 355
const STATE_AT = 108
const ACCOUNT_TAG = 2

/**
 * An initialised token account of either program: the plain length, or extensions behind the
 * account tag.
 */
const isTokenAccount = (data: Uint8Array): boolean => {
  if (data.length < TOKEN_ACCOUNT_BYTES || data.length === MULTISIG_BYTES) return false
  if (data[STATE_AT] !== 1 && data[STATE_AT] !== 2) return false
  return data.length === TOKEN_ACCOUNT_BYTES || data[TOKEN_ACCOUNT_BYTES] === ACCOUNT_TAG
}

const testData = (filter: AccountDataFilter): Test<AccountUpdate> => {
  switch (filter.kind) {
    case 'memcmp': {
      const { offset, bytes } = filter
      return ({ data }) =>
        data.length >= offset + bytes.length &&
        Buffer.compare(data.subarray(offset, offset + bytes.length), bytes) === 0
    }
    case 'datasize':
      return ({ data }) => BigInt(data.length) === filter.byteCount
    case 'tokenAccountState':
      return ({ data }) => isTokenAccount(data) === filter.wanted
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

const toKeys = (pubkeys: readonly Uint8Array[]): Set<string> => new Set(pubkeys.map(toMapKey))

/** Fields join by AND, values of a list by OR; a filter without fields takes everything. */
const testAccounts = (filter: AccountsFilter): Test<AccountUpdate> => {
  const tests = filter.filters.map(testData)
  const accounts = toKeys(filter.accounts)
  const owners = toKeys(filter.owners)
  const { hasSignature } = filter
  if (hasSignature !== undefined)
    tests.push(({ signature }) => (signature !== undefined) === hasSignature)
  if (accounts.size > 0) tests.push(({ pubkey }) => accounts.has(toMapKey(pubkey)))
  if (owners.size > 0) tests.push(({ owner }) => owners.has(toMapKey(owner)))
  return update => tests.every(test => test(update))
}

const testTransactions = (filter: TransactionsFilter): Test<TransactionRecord> => {
  const tests: Test<TransactionRecord>[] = []
  const { isFailed, signature, include, exclude, required } = filter
  // Nobody votes on a chain of one.
  if (filter.isVote === true) tests.push(() => false)
  if (isFailed !== undefined) tests.push(({ error }) => (error !== undefined) === isFailed)
  if (signature !== undefined)
    tests.push(record => Buffer.compare(record.signature, signature) === 0)
  if (include.length + exclude.length + required.length > 0) {
    const [included, excluded, demanded] = [toKeys(include), toKeys(exclude), toKeys(required)]
    tests.push(({ transaction, loadedWritable, loadedReadonly }) => {
      const keys = toKeys([...transaction.keys, ...loadedWritable, ...loadedReadonly])
      return (
        (included.size === 0 || [...included].some(key => keys.has(key))) &&
        ![...excluded].some(key => keys.has(key)) &&
        [...demanded].every(key => keys.has(key))
      )
    })
  }
  return record => tests.every(test => test(record))
}

type SlotEntry = Extract<Entry, { kind: 'slot' }>

const testSlots =
  (filter: SlotsFilter, commitment: CommitmentNumber): Test<SlotEntry> =>
  ({ status }) =>
    (filter.hasInterslotUpdates || SLOT_STATUS[status] <= SLOT_STATUS.finalized) &&
    (!filter.isByCommitment || SLOT_STATUS[status] === commitment)

const label = <F, T>(
  filters: ReadonlyMap<string, F>,
  toTest: (filter: F) => Test<T>,
): Labelled<T>[] => [...filters].map(([name, filter]) => [encodeLabel(name), toTest(filter)])

/** Labels of the filters that `value` passes, in front of nothing yet. */
const labelsOf = <T>(filters: readonly Labelled<T>[], value: T): Buffer[] => {
  const labels: Buffer[] = []
  for (const [encoded, test] of filters) if (test(value)) labels.push(encoded)
  return labels
}

/** Slices one after the other; one that reaches beyond the data is left out. */
const cut = (data: Uint8Array, slices: readonly DataSlice[]): Buffer =>
  Buffer.concat(
    slices
      .filter(({ offset, length }) => offset + length <= data.length)
      .map(({ offset, length }) => data.subarray(offset, offset + length)),
  )

/**
 * Turns an update into the pieces of a message for one subscriber, none where no filter of theirs
 * takes it.
 */
export type ToMessage = (entry: Entry) => Buffer[]

export const createFilter = (request: SubscribeRequest, now: () => number): ToMessage => {
  const accounts = label(request.accounts, testAccounts)
  const slots = label(request.slots, filter => testSlots(filter, request.commitment))
  const transactions = label(request.transactions, testTransactions)
  const statuses = label(request.transactionsStatus, testTransactions)
  const blocksMeta = request.blocksMeta.map(encodeLabel)
  const { slices } = request

  const labelsFor = (entry: Entry): Buffer[] => {
    switch (entry.kind) {
      case 'account':
        return labelsOf(accounts, entry.account)
      case 'transaction':
        return labelsOf(transactions, entry.record)
      case 'transactionStatus':
        return labelsOf(statuses, entry.record)
      case 'slot':
        return labelsOf(slots, entry)
      case 'blockMeta':
        return [...blocksMeta]
    }
  }
  return entry => {
    const parts = labelsFor(entry)
    if (parts.length === 0) return parts
    const isCut = entry.kind === 'account' && slices.length > 0
    parts.push(
      isCut
        ? encodeAccount(entry.account, now(), cut(entry.account.data, slices)).body
        : entry.body,
    )
    return parts
  }
}
