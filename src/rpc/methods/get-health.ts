import { RpcError } from '../../shared/errors.js'
import { method } from '../method.js'

const OK = Buffer.from('"ok"')

/** Whether the index keeps up with the chain: what `GET /health` says, for one network. */
export const getHealth = method({
  name: 'getHealth',
  summary: '`"ok"` while the index keeps up with the chain.',
  bound: 'none',
  params: [],
  result: { enum: ['ok'] },
  errors: ['nodeUnhealthy'],
  example: {
    params: [],
    result: 'ok',
  },
  run: context => {
    if (context.isHealthy?.() === false || context.block('confirmed') === undefined)
      // The number of slots is unknown: it would come from the feed, which has stopped.
      throw new RpcError('nodeUnhealthy', undefined, {
        numSlotsBehind: null,
        ...(context.isIncomplete?.() === true ? { reason: 'incomplete' } : {}),
      })
    return OK
  },
})
