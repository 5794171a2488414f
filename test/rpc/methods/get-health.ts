import t from 'tap'
import { SUBSCRIPTION_METHODS } from '../../../src/pubsub/methods.js'
import { createDispatch } from '../../../src/rpc/dispatch.js'
import { defaults } from '../../../src/rpc/options.js'
import { fakeReads } from '../../fixtures/rpc/fake-reads.js'
import { askText } from '../../fixtures/rpc/vectors.js'

const CALL = '{"jsonrpc":"2.0","id":1,"method":"getHealth"}'
const UNHEALTHY =
  '{"jsonrpc":"2.0","error":{"code":-32005,"message":"Node is unhealthy","data":{"numSlotsBehind":null}},"id":1}'
const TIP = { slot: 9, parentSlot: 8, blockHeight: 7, blockhash: '' }

t.test('a node that lags, and one without a block, are unhealthy', async t => {
  let tip: typeof TIP | undefined = TIP
  let isHealthy = true
  const dispatch = createDispatch(defaults, {
    connectionMethods: SUBSCRIPTION_METHODS,
    reads: fakeReads({ block: () => tip }),
    isHealthy: () => isHealthy,
    onCall() {},
    onFault: fault => {
      throw fault
    },
    now: () => 0,
  })
  t.equal(await askText(dispatch, CALL), '{"jsonrpc":"2.0","result":"ok","id":1}')
  isHealthy = false
  t.equal(await askText(dispatch, CALL), UNHEALTHY)
  isHealthy = true
  tip = undefined
  t.equal(await askText(dispatch, CALL), UNHEALTHY)
})
