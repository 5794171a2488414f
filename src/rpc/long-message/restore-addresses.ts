import { PackedAddresses, type AddressList, type PackedMessage } from '../../native/reads.js'
import { isRefusal, type Call, type Message, type Refusal } from '../../shared/jsonrpc.js'
import { isMap, type Members } from '../../shared/values.js'
import type { Method } from '../method.js'

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

/** The lists in a filter of transactions, as `native/wire/src/message/pack.rs` names them. */
const NAMED: ReadonlySet<string> = new Set([
  'accountInclude',
  'accountExclude',
  'accountRequired',
  'include',
  'exclude',
  'required',
])

/** A map with its lists of addresses, and with those of the maps in it. */
const restoreMap = (map: Members, lists: readonly AddressList[]): Members =>
  Object.fromEntries(
    Object.entries(map).map(([name, member]) => {
      const list = NAMED.has(name) ? listOf(member, lists) : undefined
      if (list !== undefined) return [name, new PackedAddresses(list)]
      return [name, isMap(member) ? restoreMap(member, lists) : member]
    }),
  )

/** Puts the addresses of a long message back into its calls. */
export const restoreAddresses = (
  message: Message,
  lists: readonly AddressList[],
  methods: ReadonlyMap<string, Method>,
): Message => {
  const restore = (call: Call | Refusal): Call | Refusal => {
    if (isRefusal(call)) return call
    const { params } = call
    if (isMap(params)) return { ...call, params: restoreMap(params, lists) }
    if (!Array.isArray(params)) return call
    const [first, ...rest] = params as readonly unknown[]
    if (isMap(first)) return { ...call, params: [restoreMap(first, lists), ...rest] }
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
