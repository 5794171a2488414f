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
  run: context => {
    if (context.isHealthy?.() === false || context.tip() === undefined)
      // By how many slots nobody here knows: the feed, which would tell, is what has stopped.
      throw new RpcError('nodeUnhealthy', undefined, { numSlotsBehind: null })
    return OK
  },
})
