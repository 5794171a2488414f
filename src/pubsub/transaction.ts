import { createHash } from 'node:crypto'
import { decodePubkeys } from '../native/encoding.js'
import {
  TRANSACTION_DETAILS,
  TRANSACTION_ENCODINGS,
  type TransactionFilter,
  type TransactionView,
} from '../native/fanout.js'
import { PackedAddresses } from '../native/reads.js'
import { RpcError } from '../shared/errors.js'
import { formatEcho, formatType } from '../shared/format-type.js'
import { isAbsent, isCount, isMap, type Members } from '../shared/values.js'
import { checkCount, decoded, toCommitment, toOptions, toSignatureBytes } from './params.js'
import {
  hasVotes,
  toCursors,
  toSharedKey,
  type Subscriber,
  type Subscription,
  type SubscriptionRules,
  type ToSubscription,
} from './subscription.js'

/** The newest version of transactions. Any higher number is as good. */
const VERSION_MAX = 1
const VERSION_LIMIT = 255

const NONE = new Uint8Array(0)
const KEY_BYTES = 32

const wrong = (name: string, expected: string): RpcError =>
  new RpcError('transactionOption', { name, expected })

const toFlagOrNone = (value: unknown, name: string): boolean | undefined => {
  if (isAbsent(value)) return undefined
  if (typeof value !== 'boolean') throw wrong(name, 'a boolean')
  return value
}

const toWord = <T extends string>(
  value: unknown,
  words: Readonly<Record<T, number>>,
  byDefault: NoInfer<T>,
): T | undefined => {
  if (isAbsent(value)) return byDefault
  return typeof value === 'string' && Object.hasOwn(words, value) ? (value as T) : undefined
}

/** The lists of accounts of a filter, by the names of one of the two forms. */
type Lists = Readonly<Record<'include' | 'exclude' | 'required', readonly [string, unknown]>>

const listsOf = (filter: Members): Lists => ({
  include: ['accountInclude', filter['accountInclude']],
  exclude: ['accountExclude', filter['accountExclude']],
  required: ['accountRequired', filter['accountRequired']],
})

const namedListsOf = ({ accounts }: Members): Lists => {
  if (!isAbsent(accounts) && !isMap(accounts)) throw wrong('accounts', 'a map')
  const of = (name: string): readonly [string, unknown] => [name, accounts?.[name]]
  return { include: of('include'), exclude: of('exclude'), required: of('required') }
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every(element => typeof element === 'string')

/** A list of accounts: how many there are, and 32 bytes for each once they are needed. */
type Keys = { readonly count: number; readonly read: () => Uint8Array }

const toKeys = ([name, value]: readonly [string, unknown], max: number): Keys => {
  if (isAbsent(value)) return { count: 0, read: () => NONE }
  const tooMany = wrong(name, `a list of at most ${max} addresses`)
  // Of a long message.
  if (value instanceof PackedAddresses) {
    const keys = decoded(name, () => value.keys())
    if (keys.length > max * KEY_BYTES) throw tooMany
    return { count: keys.length / KEY_BYTES, read: () => keys }
  }
  // Its length first: what is too long is not looked through.
  if (!Array.isArray(value) || value.length > max || !isTexts(value)) throw tooMany
  const read = () => (value.length === 0 ? NONE : decoded(name, () => decodePubkeys(value)))
  return { count: value.length, read }
}

const toView = (config: Members, isNamed: boolean): TransactionView => {
  const details = toWord(config['transactionDetails'], TRANSACTION_DETAILS, 'full')
  if (details === undefined)
    throw wrong('transactionDetails', 'one of full, accounts, signatures and none')
  const encoding = toWord(config['encoding'], TRANSACTION_ENCODINGS, 'base64')
  if (encoding === undefined) {
    const { encoding: value } = config
    const text = typeof value === 'object' ? formatType(value) : String(value)
    throw new RpcError('unsupportedEncoding', { value: formatEcho(text) })
  }
  const showsRewards = toFlagOrNone(config['showRewards'], 'showRewards') ?? false
  const version = config['maxSupportedTransactionVersion']
  if (!isAbsent(version) && (!isCount(version) || version > VERSION_LIMIT))
    throw wrong('maxSupportedTransactionVersion', `a number from 0 to ${VERSION_LIMIT}`)
  if (encoding === 'base58' && Number(version ?? 0) >= 1) throw new RpcError('base58Version')
  // What shows the same is one view, so that it is written once.
  const hasTransaction = details === 'full' || details === 'accounts'
  return {
    details,
    encoding: details === 'full' ? encoding : 'base64',
    showsRewards: hasTransaction && showsRewards,
    versionMax: isAbsent(version) || !hasTransaction ? undefined : Math.min(version, VERSION_MAX),
    isNamed,
  }
}

type Form = {
  readonly filter: Members
  readonly lists: Lists
  readonly config: Members
  readonly isNamed: boolean
}

const toSubscription = (
  { filter, lists, config, isNamed }: Form,
  rules: SubscriptionRules,
  subscriber: Subscriber,
): Subscription => {
  const { filterKeysMax, transactions } = rules
  const isVote = toFlagOrNone(filter['vote'], 'vote')
  if (isVote === true && !hasVotes(transactions))
    throw new RpcError('votesNotFollowed', { what: '`vote: true`' })
  const isFailed = toFlagOrNone(filter['failed'], 'failed')
  const { signature: text } = filter
  const signature = isAbsent(text) ? undefined : toSignatureBytes(text, 0)
  const view = toView(config, isNamed)
  const commitment = toCommitment(config['commitment'])
  const cursors = toCursors(config, isNamed ? 0 : 1, subscriber)
  const include = toKeys(lists.include, filterKeysMax)
  const exclude = toKeys(lists.exclude, filterKeysMax)
  const required = toKeys(lists.required, filterKeysMax)
  const keyCount = include.count + exclude.count + required.count
  // Before they are decoded, because a client may repeat this.
  if (keyCount > 0) subscriber.checkKeys(keyCount)
  const found: TransactionFilter = {
    isVote,
    isFailed,
    signature,
    include: include.read(),
    exclude: exclude.read(),
    required: required.read(),
  }
  const hash = createHash('sha256')
  for (const keys of [found.include, found.exclude, found.required])
    hash.update(`${keys.length}:`).update(keys)
  const keyParts = [isVote, isFailed, text, hash.digest('base64'), view, commitment]
  return {
    key: toSharedKey(['transaction', ...keyParts], cursors),
    keyCount,
    add: (fanout, id) => fanout.addTransactions(id, found, view, cursors),
  }
}

const checkFollowed = ({ transactions }: SubscriptionRules): void => {
  if (!transactions.startsWith('full')) throw new RpcError('transactionsNotFollowed')
}

/** Helius' form: `[filter, options]`. */
export const toTransactions: ToSubscription = (params, rules, subscriber) => {
  checkFollowed(rules)
  checkCount(params, 0, 2)
  const filter = toOptions(params, 0)
  const config = toOptions(params, 1)
  const form = { filter, lists: listsOf(filter), config, isNamed: false }
  return toSubscription(form, rules, subscriber)
}

/** Richat's form: `{filter, config}`. */
export const toNamedTransactions: ToSubscription = (params, rules, subscriber) => {
  checkFollowed(rules)
  const given = toOptions(params, 0)
  const member = (name: string): Members => {
    const { [name]: value } = given
    if (isAbsent(value)) return {}
    if (!isMap(value)) throw wrong(name, 'a map')
    return value
  }
  const filter = member('filter')
  const config = member('config')
  const form = { filter, lists: namedListsOf(filter), config, isNamed: true }
  return toSubscription(form, rules, subscriber)
}
