import {
  toAccount,
  toLogs,
  toProgram,
  toRoot,
  toSignature,
  toSlot,
  toSubmission,
} from './subscription.js'
import { toPriorityFee, toTip } from './fees.js'
import type { ToSubscription } from './subscription.js'
import { toNamedTransactions, toTransactions } from './transaction.js'

/** Served methods, each with the function that checks its parameters. */
export const SUBSCRIBES: ReadonlyMap<string, ToSubscription> = new Map([
  ['accountSubscribe', toAccount],
  ['programSubscribe', toProgram],
  ['logsSubscribe', toLogs],
  ['transactionSubscribe', toTransactions],
  ['signatureSubscribe', toSignature],
  ['slotSubscribe', toSlot],
  ['rootSubscribe', toRoot],
  ['priorityFeeSubscribe', toPriorityFee],
  ['tipSubscribe', toTip],
  ['submissionSubscribe', toSubmission],
])

/** Those that take an object in place of an array, which is their only parameter then. */
export const NAMED_SUBSCRIBES: ReadonlyMap<string, ToSubscription> = new Map([
  ['transactionSubscribe', toNamedTransactions],
])

/** Methods that are not served; Agave does not serve them by default. */
const UNSERVED = ['slotsUpdatesSubscribe', 'blockSubscribe', 'voteSubscribe']

const toUnsubscribe = (method: string): string => method.replace('Subscribe', 'Unsubscribe')

/** Each accepts the id of any kind of subscription, as Agave does. */
export const UNSUBSCRIBES: ReadonlySet<string> = new Set(
  Array.from(SUBSCRIBES.keys(), toUnsubscribe),
)

/** All subscription methods. Only a WebSocket has them: over HTTP they are unknown. */
export const SUBSCRIPTION_METHODS: ReadonlySet<string> = new Set(
  [...SUBSCRIBES.keys(), ...UNSERVED].flatMap(method => [method, toUnsubscribe(method)]),
)
