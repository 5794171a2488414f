import { toDataSlice, toEncoding } from '../native/account-view.js'
import { RpcError } from '../shared/errors.js'
import type { Fanout, FanoutView } from '../native/fanout.js'
import { toFilters } from '../native/filters.js'
import type { Filter } from '../native/reads.js'
import { onlyMember, type Members } from '../shared/values.js'
import { checkCount, toCommitment, toFlag, toKey, toOptions, toSignatureBytes } from './params.js'

/** What somebody listens to, checked. */
export type Subscription = {
  /**
   * Equal where one id serves both. Whatever a client takes for two has two keys, commitments and
   * spellings of one filter included: web3.js calls nobody of the first when two of its
   * subscriptions get one id. Undefined: it ends by itself and is shared with nobody, because it
   * might end before the second one's reply.
   */
  readonly key: string | undefined
  add(fanout: Fanout, id: number): void
}

/** What the network's feed tells of transactions. */
export type Transactions = 'none' | 'status' | 'logs' | 'logsAndVotes'

/** What an index that does not hold the whole chain can tell of. */
export type IndexedScope = {
  /**
   * Whether every change of this account is told. May throw an RpcError, where that cannot be known
   * yet.
   */
  holdsAccount(pubkey: Uint8Array): boolean
  /** The same of all accounts of the program for which the filters hold. */
  holdsProgram(program: Uint8Array, filters: readonly Filter[]): boolean
}

/** What a subscription may ask for. */
export type Offer = {
  readonly filtersMax: number
  readonly transactions: Transactions
  /** Undefined where the whole chain is indexed. */
  readonly scope: IndexedScope | undefined
}

/** Checks the parameters of a subscribing method. Throws an RpcError. */
export type ToSubscription = (params: readonly unknown[], offer: Offer) => Subscription

/** A longer spelling of filters does not tell them apart any more: keys are held in memory. */
const FILTERS_CHARS_MAX = 4_096

// Agave's old names of what is confirmed or younger; anything else waits for the root.
const CONFIRMED: ReadonlySet<string> = new Set([
  'confirmed',
  'processed',
  'recent',
  'single',
  'singleGossip',
])

/** How accounts are seen, and what of it stands in a key. */
const toView = (options: Members): { view: FanoutView; words: readonly unknown[] } => {
  const encoding = toEncoding(options['encoding'])
  const slice = toDataSlice(options['dataSlice'], encoding)
  const asked = toDataSlice(options['dataSlice'], 'base64')
  const commitment = toCommitment(options['commitment'])
  return {
    view: { encoding, slice },
    words: [encoding, asked?.offset, asked?.length, commitment],
  }
}

const textOf = (key: Uint8Array): string => Buffer.from(key).toString('base64')

export const toAccount: ToSubscription = (params, { scope }) => {
  checkCount(params, 1, 2)
  const pubkey = toKey(params[0], 0)
  const { view, words } = toView(toOptions(params, 1))
  // A silence that means nothing would be taken for one that does.
  if (scope?.holdsAccount(pubkey) === false) throw new RpcError('outsideScope')
  return {
    key: JSON.stringify(['account', textOf(pubkey), ...words]),
    add: (fanout, id) => fanout.addAccount(id, pubkey, view),
  }
}

export const toProgram: ToSubscription = (params, { filtersMax, scope }) => {
  checkCount(params, 1, 2)
  const program = toKey(params[0], 0)
  const options = toOptions(params, 1)
  const { view, words } = toView(options)
  const given = options['filters']
  if (Array.isArray(given) && given.length > filtersMax)
    throw new RpcError('filterCount', { max: filtersMax })
  const filters = toFilters(given)
  if (scope?.holdsProgram(program, filters) === false) throw new RpcError('outsideScope')
  const spelt = JSON.stringify(filters.length === 0 ? [] : given)
  const sorted = filters.map(filter =>
    'bytes' in filter ? [filter.offset, textOf(filter.bytes)] : filter.dataSize,
  )
  const told = spelt.length <= FILTERS_CHARS_MAX ? spelt : sorted
  return {
    key: JSON.stringify(['program', textOf(program), told, ...words]),
    add: (fanout, id) => fanout.addProgram(id, program, filters, view),
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

export const toLogs: ToSubscription = (params, { transactions }) => {
  if (transactions === 'none' || transactions === 'status') throw new RpcError('methodNotFound')
  checkCount(params, 1, 2)
  const which = toWhich(params[0])
  if (which === 'allWithVotes' && transactions !== 'logsAndVotes')
    throw new RpcError('votesNotFollowed')
  const commitment = toCommitment(toOptions(params, 1)['commitment'])
  const words = typeof which === 'string' ? [which] : ['mentions', textOf(which)]
  return {
    key: JSON.stringify(['logs', ...words, commitment]),
    add: (fanout, id) => fanout.addLogs(id, which),
  }
}

export const toSignature: ToSubscription = (params, { transactions }) => {
  if (transactions === 'none') throw new RpcError('methodNotFound')
  checkCount(params, 1, 2)
  const signature = toSignatureBytes(params[0], 0)
  const options = toOptions(params, 1)
  const isReceivedTold = toFlag(options['enableReceivedNotification'], 1)
  const commitment = CONFIRMED.has(toCommitment(options['commitment'])) ? 'confirmed' : 'finalized'
  return {
    key: undefined,
    add: (fanout, id) => fanout.addSignature(id, signature, commitment, isReceivedTold),
  }
}

export const toSlot: ToSubscription = params => {
  checkCount(params, 0, 0)
  return { key: 'slot', add: (fanout, id) => fanout.addSlot(id) }
}

export const toRoot: ToSubscription = params => {
  checkCount(params, 0, 0)
  return { key: 'root', add: (fanout, id) => fanout.addRoot(id) }
}
