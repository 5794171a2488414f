import { method, type Method } from '../method.js'
import { toOpenRpc } from '../open-rpc.js'

/** Where the shape of an OpenRPC document is described. */
const META_SCHEMA = 'https://meta.open-rpc.org/'

/**
 * Describes a table of methods. The table may contain this method, so it is read at the first call.
 */
export const createDiscover = (methods: () => Iterable<Method>): Method => {
  let document: Buffer | undefined
  return method({
    name: 'rpc.discover',
    summary: 'What is answered here, as an OpenRPC document.',
    bound: 'none',
    params: [],
    result: { $ref: META_SCHEMA },
    run: () => (document ??= Buffer.from(JSON.stringify(toOpenRpc(methods())))),
  })
}
