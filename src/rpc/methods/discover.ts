import { method, type Method } from '../method.js'
import { toOpenRpc } from '../open-rpc.js'

/** Where the shape of an OpenRPC document is described. */
const META_SCHEMA = 'https://meta.open-rpc.org/'

/**
 * Describes the methods of a table, which may hold this one: it is looked at when it is asked for.
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
