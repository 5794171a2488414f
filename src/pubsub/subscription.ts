import { toDataSlice, toEncoding } from '../native/account-view.js'
import { RpcError } from '../shared/errors.js'
import { isCursor, type Cursors, type Fanout, type FanoutView } from '../native/fanout.js'
import { toFilters } from '../native/filters.js'
import type { Filter } from '../native/reads.js'
import type { FollowSubmissions } from '../shared/socket.js'
import { isAbsent, isMap, onlyMember, type Members } from '../shared/values.js'
import { checkCount, toCommitment, toFlag, toKey, toOptions, toSignatureBytes } from './params.js'

/** What a read of the index answered. */
export type BlockRead = {
  /** The block that it was read at. */
  readonly slot: number
  /** As JSON: `{context: {slot}, value}`. */
  readonly result: Uint8Array
}

/** A checked subscription. */
export type Subscription = {
  /**
   * Subscriptions with equal keys share an id. Other commitments and other spellings of a filter
   * are other keys: web3.js loses the callbacks of the first of two subscriptions with one id.
   * Undefined for a subscription that is not shared: one that ends by itself, because it might end
   * before the reply to the second one, and one that goes on after a cursor.
   */
  readonly key: string | undefined
  add(fanout: Fanout, id: number): void
  /** Accounts that its filter lists, which are kept for each of its subscribers. */
  readonly keyCount?: number
  /** Whether it is read for each block: 1, which is counted to the access. */
  readonly readCount?: number
  /** Set if its frames are read from the index for each block. */
  readonly read?: { readonly kind: string; run(): Promise<BlockRead> }
  /** Set where frames do not come from the fan-out: starts them, each made of a result. */
  readonly follow?: ReturnType<FollowSubmissions>
}

/** What the network's feed contains about transactions. */
export type Transactions =
  'none' | 'status' | 'logs' | 'logsAndVotes' | 'full' | 'fullAndVotes' | 'fullAndEntries'

export const hasVotes = (transactions: Transactions): boolean =>
  transactions.endsWith('AndVotes') || transactions === 'fullAndEntries'

/** What an index of a part of the chain covers. */
export type IndexedScope = {
  /**
   * Whether every change of this account is notified. Throws an RpcError where that is not known
   * yet.
   */
  coversAccount(pubkey: Uint8Array): boolean
  /** The same for all accounts of the program that match the filters. */
  coversProgram(program: Uint8Array, filters: readonly Filter[]): boolean
}

/** The reads of the index that are notified with each block, by their subscription. */
export type FeeKind = 'priorityFee' | 'tip'

/** Checks the parameters of a read, and returns what runs it. Throws an RpcError. */
export type PrepareFees = (kind: FeeKind, params: readonly unknown[]) => () => Promise<BlockRead>

/** What subscriptions are checked against. */
export type SubscriptionRules = {
  readonly filtersMax: number
  readonly filterKeysMax: number
  readonly transactions: Transactions
  /** Undefined where the whole chain is indexed. */
  readonly scope: IndexedScope | undefined
  /** Undefined where nothing can be submitted. */
  readonly followSubmissions?: FollowSubmissions | undefined
  /** Undefined where no fees are read. */
  readonly prepareFees?: PrepareFees | undefined
}

/** Whose subscription it is. */
export type Subscriber = {
  readonly accessId: string
  readonly socketNumber: number
  /** Throws if its filters cannot have so many more accounts. */
  checkKeys(count: number): void
  /** Throws if it cannot have so many more subscriptions that are read for each block. */
  checkReads(count: number): void
}

/** Checks the parameters of a subscribing method. Throws an RpcError. */
export type ToSubscription = (
  params: readonly unknown[],
  rules: SubscriptionRules,
  subscriber: Subscriber,
) => Subscription

/** Bound of the filters' spelling in a key, which stays in memory; a longer one is normalised. */
const FILTERS_CHARS_MAX = 4_096

// Agave's names of commitments up to confirmed; any other one means finalized.
const CONFIRMED: ReadonlySet<string> = new Set([
  'confirmed',
  'processed',
  'recent',
  'single',
  'singleGossip',
])

/** The encoding of accounts, and its part of the key. */
const toView = (options: Members): { view: FanoutView; keyParts: readonly unknown[] } => {
  const encoding = toEncoding(options['encoding'])
  const slice = toDataSlice(options['dataSlice'], encoding)
  const asked = toDataSlice(options['dataSlice'], 'base64')
  const commitment = toCommitment(options['commitment'])
  return {
    view: { encoding, slice },
    keyParts: [encoding, asked?.offset, asked?.length, commitment],
  }
}

/** What `cursor` and `from` of the options at `index` ask for; undefined is Agave's frames. */
export const toCursors = (
  options: Members,
  index: number,
  { accessId, socketNumber }: Subscriber,
  isOfRoots = false,
): Cursors | undefined => {
  const hasCursors = toFlag(options['cursor'], index)
  const { from } = options
  const owner = { access: accessId, socket: socketNumber }
  if (isAbsent(from)) return hasCursors ? owner : undefined
  if (typeof from !== 'string' || !isCursor(from, isOfRoots)) throw new RpcError('cursor')
  return { ...owner, from }
}

/** The key of a subscription that is shared. */
export const toSharedKey = (
  parts: readonly unknown[],
  cursors: Cursors | undefined,
): string | undefined => {
  if (cursors?.from !== undefined) return undefined
  return JSON.stringify(cursors === undefined ? parts : [...parts, 'cursor'])
}

const textOf = (key: Uint8Array): string => Buffer.from(key).toString('base64')

export const toAccount: ToSubscription = (params, { scope }, subscriber) => {
  checkCount(params, 1, 2)
  const pubkey = toKey(params[0], 0)
  const options = toOptions(params, 1)
  const { view, keyParts } = toView(options)
  const cursors = toCursors(options, 1, subscriber)
  // Refused, because a client would take the missing notifications for missing changes.
  if (scope?.coversAccount(pubkey) === false) throw new RpcError('outsideScope')
  return {
    key: toSharedKey(['account', textOf(pubkey), ...keyParts], cursors),
    add: (fanout, id) => fanout.addAccount(id, pubkey, view, cursors),
  }
}

export const toProgram: ToSubscription = (params, { filtersMax, scope }, subscriber) => {
  checkCount(params, 1, 2)
  const program = toKey(params[0], 0)
  const options = toOptions(params, 1)
  const { view, keyParts } = toView(options)
  const given = options['filters']
  if (Array.isArray(given) && given.length > filtersMax)
    throw new RpcError('filterCount', { max: filtersMax })
  const filters = toFilters(given)
  const cursors = toCursors(options, 1, subscriber)
  if (scope?.coversProgram(program, filters) === false) throw new RpcError('outsideScope')
  const spelt = JSON.stringify(filters.length === 0 ? [] : given)
  const sorted = filters.map(filter =>
    'bytes' in filter ? [filter.offset, textOf(filter.bytes)] : filter.dataSize,
  )
  const filterKey = spelt.length <= FILTERS_CHARS_MAX ? spelt : sorted
  return {
    key: toSharedKey(['program', textOf(program), filterKey, ...keyParts], cursors),
    add: (fanout, id) => fanout.addProgram(id, program, filters, view, cursors),
  }
}

const toWhich = (value: unknown): 'all' | 'allWithVotes' | Uint8Array => {
  if (value === 'all' || value === 'allWithVotes') return value
  const [name, keys] = onlyMember(value) ?? []
  if (name !== 'mentions' || !Array.isArray(keys)) throw new RpcError('logsFilter')
  if (keys.length !== 1) throw new RpcError('mentionsCount')
  if (typeof keys[0] !== 'string') throw new RpcError('logsFilter')
  return toKey(keys[0], 0, 'mentions')
}

export const toLogs: ToSubscription = (params, { transactions }, subscriber) => {
  if (transactions === 'none' || transactions === 'status') throw new RpcError('methodNotFound')
  checkCount(params, 1, 2)
  const which = toWhich(params[0])
  if (which === 'allWithVotes' && !hasVotes(transactions))
    throw new RpcError('votesNotFollowed', { what: '`allWithVotes`' })
  const options = toOptions(params, 1)
  const commitment = toCommitment(options['commitment'])
  const cursors = toCursors(options, 1, subscriber)
  const keyParts = typeof which === 'string' ? [which] : ['mentions', textOf(which)]
  return {
    key: toSharedKey(['logs', ...keyParts, commitment], cursors),
    add: (fanout, id) => fanout.addLogs(id, which, cursors),
  }
}

export const toSignature: ToSubscription = (params, { transactions }) => {
  if (transactions === 'none') throw new RpcError('methodNotFound')
  checkCount(params, 1, 2)
  const signature = toSignatureBytes(params[0], 0)
  const options = toOptions(params, 1)
  const notifiesReceived = toFlag(options['enableReceivedNotification'], 1)
  const commitment = CONFIRMED.has(toCommitment(options['commitment'])) ? 'confirmed' : 'finalized'
  return {
    key: undefined,
    add: (fanout, id) => fanout.addSignature(id, signature, commitment, notifiesReceived),
  }
}

/** Agave refuses any parameter of these methods, and so is one that asks for no cursor. */
const toChainCursors = (
  params: readonly unknown[],
  subscriber: Subscriber,
  isOfRoots: boolean,
): Cursors | undefined => {
  const [options] = params
  const hasOptions = isMap(options) && ('cursor' in options || 'from' in options)
  checkCount(params, 0, hasOptions ? 1 : 0)
  return hasOptions ? toCursors(options, 0, subscriber, isOfRoots) : undefined
}

export const toSlot: ToSubscription = (params, _rules, subscriber) => {
  const cursors = toChainCursors(params, subscriber, false)
  return {
    key: toSharedKey(['slot'], cursors),
    add: (fanout, id) => fanout.addSlot(id, cursors),
  }
}

export const toRoot: ToSubscription = (params, _rules, subscriber) => {
  const cursors = toChainCursors(params, subscriber, true)
  return {
    key: toSharedKey(['root'], cursors),
    add: (fanout, id) => fanout.addRoot(id, cursors),
  }
}

export const toSubmission: ToSubscription = (params, { followSubmissions }, { accessId }) => {
  if (followSubmissions === undefined) throw new RpcError('methodNotFound')
  checkCount(params, 0, 1)
  const { from } = toOptions(params, 0)
  if (!isAbsent(from) && typeof from !== 'string')
    throw new RpcError('submissionFilter', {
      name: 'from',
      expected: 'the `cursor` of a notification',
    })
  return {
    key: undefined,
    add: () => {},
    follow: followSubmissions(accessId, isAbsent(from) ? undefined : from),
  }
}
