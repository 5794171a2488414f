import { isDeepStrictEqual } from 'node:util'
import { RpcError } from '../../shared/errors.js'
import type { Params } from '../../shared/jsonrpc.js'
import type { Verdict } from '../../native/transactions.js'
import { checkParamCount, isAbsent, toText, wrongType } from '../../shared/values.js'
import { parseId } from '../store/submission-id.js'
import type { RelayRoute } from '../store/submission.js'

/** The largest transaction of a relay route: one packet. */
export const RELAY_TRANSACTION_BYTES_MAX = 1_232
/** The most ids of one status query. */
export const BUNDLE_IDS_MAX = 5

/** What `sendBundle` takes on one route (contract: relay-options-exact). */
export type BundleForm = {
  readonly transactionsMax: number
  /** `params[1]`, which must be exactly this. */
  readonly options: object
}

export const BUNDLE_FORMS: Readonly<Record<RelayRoute, BundleForm>> = {
  '/relay': {
    transactionsMax: 4,
    options: { encoding: 'base64', mevProtect: true, revertProtection: true },
  },
  '/relay-bundle': { transactionsMax: 5, options: { encoding: 'base64' } },
}

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value)

/**
 * Parameters by position. The error names `min` to `max`; a missing one is reported by its index.
 */
const toPositions = (params: Params, min: number, max: number): readonly unknown[] => {
  if (!isList(params)) throw new RpcError('paramsNotArray')
  checkParamCount(params, { min, max })
  return params
}

const toList = (value: unknown, index: number): readonly unknown[] => {
  if (isAbsent(value)) throw new RpcError('missingParam', { index })
  if (!isList(value)) throw wrongType(value, index, 'a sequence')
  return value
}

/**
 * The transactions of a `sendBundle`. Checks its shape, its options and its count, in this order.
 */
export const toTransactions = (params: Params, form: BundleForm): readonly string[] => {
  const [first, options] = toPositions(params, 2, 2)
  const transactions = toList(first, 0)
  if (isAbsent(options)) throw new RpcError('missingParam', { index: 1 })
  if (!isDeepStrictEqual(options, form.options))
    throw new RpcError('bundleOptions', { options: JSON.stringify(form.options) })
  if (transactions.length === 0) throw new RpcError('bundleEmpty')
  const max = form.transactionsMax
  if (transactions.length > max) throw new RpcError('bundleTooLong', { max })
  return transactions.map(transaction => toText(transaction, 0))
}

/** The least sum for each class of tip accounts. */
export type TipFloors = { readonly service: number; readonly engine: number }

/**
 * Throws for the first rule that the bundle breaks. Each rule is checked for all members before the
 * next rule: base64, size, structure, duplicates, signatures, tips.
 */
export const checkMembers = ({ members, duplicate }: Verdict, floors: TipFloors): void => {
  const faults = members.flatMap(({ problem }, index) =>
    problem === undefined ? [] : [{ index, ...problem }],
  )
  for (const { index, kind } of faults) {
    if (kind === 'base64') throw new RpcError('transactionBase64', { index })
    if (kind === 'size')
      throw new RpcError('transactionSize', { index, max: RELAY_TRANSACTION_BYTES_MAX })
  }
  const [malformed] = faults
  if (malformed !== undefined) {
    const { index, reason } = malformed
    throw new RpcError('transactionMalformed', { index, problem: reason })
  }
  if (duplicate !== undefined) {
    const [first, second] = duplicate
    throw new RpcError('transactionTwice', { first, second })
  }
  const forged = members.findIndex(({ isSigned }) => isSigned !== true)
  if (forged !== -1) throw new RpcError('transactionSignature', { index: forged })
  if (!members.some(({ qualifies }) => qualifies)) throw new RpcError('noQualifyingMember', floors)
}

const BUNDLE_ID = /^[0-9a-fA-F]{64}$/

/** The ids of a status query. */
export const toBundleIds = (params: Params): readonly string[] => {
  const ids = toList(toPositions(params, 1, 1)[0], 0).map(id => toText(id, 0))
  if (ids.length < 1 || ids.length > BUNDLE_IDS_MAX)
    throw new RpcError('bundleIdCount', { max: BUNDLE_IDS_MAX })
  const seen = new Map<string, number>()
  for (const [index, id] of ids.entries()) {
    if (!BUNDLE_ID.test(id)) throw new RpcError('bundleIdShape', { index })
    const first = seen.get(id.toLowerCase())
    if (first !== undefined) throw new RpcError('bundleIdTwice', { first, second: index })
    seen.set(id.toLowerCase(), index)
  }
  return ids
}

/** Accepts no parameters: clients send absent ones, `null`, `[]` and `[null]`. */
export const checkEmpty = (params: Params): void => {
  const given = toPositions(params, 0, 1)
  if (!given.every(isAbsent)) throw new RpcError('paramCount', { min: 0, max: 0 }, '"Got: 1"')
}

/** The id of `getSubmission`. */
export const toSubmissionId = (params: Params): Uint8Array => {
  const [value] = toPositions(params, 1, 1)
  if (isAbsent(value)) throw new RpcError('missingParam', { index: 0 })
  const id = parseId(toText(value, 0))
  if (id === undefined) throw new RpcError('submissionIdShape')
  return id
}
