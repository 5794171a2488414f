import type { Method } from './method.js'

/** Release of the OpenRPC specification that the document follows. */
const OPEN_RPC = '1.3.2'

/** The OpenRPC document of a table of methods. */
export const toOpenRpc = (methods: Iterable<Method>) => ({
  openrpc: OPEN_RPC,
  info: {
    title: 'Slotline',
    description:
      'Methods that are answered from the index. Every other one is forwarded, where that is configured.',
    version: '1',
  },
  methods: Array.from(methods, ({ name, summary, params, result }) => ({
    name,
    summary,
    paramStructure: 'by-position',
    params: params.map(({ name, isRequired, schema }) => ({ name, required: isRequired, schema })),
    result: { name: 'result', schema: result },
  })),
})
