import type { MethodDescription } from '../../shared/describe/method-description.js'
import { method, type Method } from '../method.js'
import { formatOpenRpc } from '../open-rpc.js'

/** Where the shape of an OpenRPC document is described. */
const META_SCHEMA = 'https://meta.open-rpc.org/'

const NONE: readonly MethodDescription[] = []

/**
 * Describes a table of methods, and those that are served beside it. The table may contain this
 * method, so it is read at the first call.
 */
export const createDiscover = (methods: () => Iterable<Method>): Method => {
  let known: { readonly others: readonly MethodDescription[]; readonly text: Buffer } | undefined
  return method({
    name: 'rpc.discover',
    summary: 'What is answered here, as an OpenRPC document.',
    bound: 'none',
    params: [],
    result: { $ref: META_SCHEMA },
    run: ({ otherMethods: others = NONE }) => {
      if (known?.others !== others)
        known = { others, text: Buffer.from(formatOpenRpc([...methods(), ...others])) }
      return known.text
    },
  })
}
