import type { AddressList, PackedMessage } from '../../native/reads.js'
import { isRefusal, type Call, type Message, type Refusal } from '../../shared/jsonrpc.js'
import type { Method } from '../method.js'
import { PackedAddresses } from './packed-addresses.js'

const MARKER = '#'

/** The list that an element of `params` stands for; undefined if it is an ordinary value. */
const listOf = (value: unknown, lists: readonly AddressList[]): AddressList | undefined => {
  if (!Array.isArray(value) || value.length !== 1) return undefined
  const [text] = value as readonly unknown[]
  // A text of the client is never left in such an array.
  return typeof text === 'string' && text.startsWith(MARKER)
    ? lists[Number(text.slice(MARKER.length))]
    : undefined
}

/** Puts the addresses of a long message back into its calls. */
export const restoreAddresses = (
  message: Message,
  lists: readonly AddressList[],
  methods: ReadonlyMap<string, Method>,
): Message => {
  const restore = (call: Call | Refusal): Call | Refusal => {
    if (isRefusal(call) || !Array.isArray(call.params)) return call
    const [first, ...rest] = call.params as readonly unknown[]
    const list = listOf(first, lists)
    if (list === undefined) return call
    const isTaken = methods.get(call.method)?.params[0]?.isLongList === true
    // Another method refuses it as any array.
    return { ...call, params: [isTaken ? new PackedAddresses(list) : [], ...rest] }
  }
  return 'map' in message ? message.map(restore) : restore(message)
}

/** The elements of a long batch as the received bytes. */
export const packedElements = (body: Uint8Array, { elements }: PackedMessage): Uint8Array[] =>
  Array.from({ length: elements.length / 2 }, (_, nth) =>
    body.subarray(elements[2 * nth], elements[2 * nth + 1]),
  )
