import t from 'tap'
import { createPeekMethod } from '../../src/rpc/peek-method.js'

const peekMethod = createPeekMethod(['getSlot', 'getSlots'])

const cases: [body: string, method: string][] = [
  ['{"jsonrpc":"2.0","id":1,"method":"getSlot","params":[]}', 'getSlot'],
  ['{"method": "getSlot"}', 'getSlot'],
  ['{"method":"getSlots"}', 'getSlots'],
  ['{"method":"getSlo"}', 'unknown'],
  ['{"id":"\\"method","method":"getSlot"}', 'getSlot'],
  ['{"id":"method","method":"getSlot"}', 'getSlot'],
  ['{"id":"method" , "method" : "getSlot"}', 'getSlot'],
  ['{"method":"', 'unknown'],
  ['{"method"', 'unknown'],
  ['{"method":1}', 'unknown'],
  ['', 'unknown'],
]
for (const [body, method] of cases)
  t.test(body, async t => t.equal(peekMethod(Buffer.from(body)), method))
