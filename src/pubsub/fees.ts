import { RpcError } from '../shared/errors.js'
import { isAbsent, isMap, type Members } from '../shared/values.js'
import { checkCount, toOptions } from './params.js'
import type { FeeKind, ToSubscription } from './subscription.js'

/** Sorts members, so that equal subscriptions have one spelling. */
const spell = (value: unknown): string =>
  JSON.stringify(value, (_name, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  )

/** What is only answered once: the distributions are long, and a transaction is checked late. */
const checkEstimate = ({ transaction, options }: Members): void => {
  const others = 'a subscription'
  if (!isAbsent(transaction)) throw new RpcError('feeTogether', { name: 'transaction', others })
  if (isMap(options) && !isAbsent(options['includeDetails']))
    throw new RpcError('feeTogether', { name: 'includeDetails', others })
}

const toFees =
  (kind: FeeKind, countMin: number): ToSubscription =>
  (params, { prepareFees, transactions }, subscriber) => {
    if (prepareFees === undefined || transactions === 'none' || transactions === 'status')
      throw new RpcError('methodNotFound')
    checkCount(params, countMin, 1)
    subscriber.checkReads(1)
    const given = toOptions(params, 0)
    if (kind === 'priorityFee') checkEstimate(given)
    const run = prepareFees(kind, [given])
    return {
      key: spell([kind, given]),
      readCount: 1,
      add: () => {},
      read: { kind, run },
    }
  }

export const toPriorityFee = toFees('priorityFee', 1)
export const toTip = toFees('tip', 0)
