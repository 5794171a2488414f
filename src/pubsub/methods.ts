import {
  toAccount,
  toLogs,
  toProgram,
  toRoot,
  toSignature,
  toSlot,
  toSubmission,
} from './subscription.js'
import type { ToSubscription } from './subscription.js'

/** Served methods, each with the function that checks its parameters. */
export const SUBSCRIBES: ReadonlyMap<string, ToSubscription> = new Map([
  ['accountSubscribe', toAccount],
  ['programSubscribe', toProgram],
  ['logsSubscribe', toLogs],
  ['signatureSubscribe', toSignature],
  ['slotSubscribe', toSlot],
  ['rootSubscribe', toRoot],
  ['submissionSubscribe', toSubmission],
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
