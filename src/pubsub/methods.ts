import { toAccount, toLogs, toProgram, toRoot, toSignature, toSlot } from './subscription.js'
import type { ToSubscription } from './subscription.js'

/** What each subscribing method makes of its parameters. */
export const SUBSCRIBES: ReadonlyMap<string, ToSubscription> = new Map([
  ['accountSubscribe', toAccount],
  ['programSubscribe', toProgram],
  ['logsSubscribe', toLogs],
  ['signatureSubscribe', toSignature],
  ['slotSubscribe', toSlot],
  ['rootSubscribe', toRoot],
])

/** Each takes an id of whatever kind, as Agave's do. */
export const UNSUBSCRIBES: ReadonlySet<string> = new Set(
  Array.from(SUBSCRIBES.keys(), name => name.replace('Subscribe', 'Unsubscribe')),
)
