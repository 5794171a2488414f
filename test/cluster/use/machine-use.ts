import fc from 'fast-check'
import t from 'tap'
import { formatUse, parseUse } from '../../../src/cluster/use/machine-use.js'

t.test('what a machine reports is read as it was', async t => {
  const count = fc.maxSafeNat()
  const key = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
  const noNullPrototype = true
  const use = fc.record(
    { key, series: count, requests: count, requestsInFlight: count, sockets: count },
    { noNullPrototype },
  )
  const report = fc.record(
    { instance: fc.string({ minLength: 1 }), accesses: fc.array(use) },
    { noNullPrototype },
  )
  fc.assert(
    fc.property(report, given => {
      t.strictSame(parseUse(Buffer.from(formatUse(given))), given)
    }),
    { numRuns: 100 },
  )
})

t.test('anything else is an error', async t => {
  for (const text of [
    '',
    '{}',
    '[]',
    '{"instance":"","accesses":[]}',
    '{"instance":"a","accesses":[["0",1,1,1,1]]}',
    '{"instance":"a","accesses":[["000000000000000g",1,1,1,1]]}',
    '{"instance":"a","accesses":[["0000000000000001",1,1,1]]}',
    '{"instance":"a","accesses":[["0000000000000001",1,-1,1,1]]}',
    '{"instance":"a","accesses":[["0000000000000001",1,0.5,1,1]]}',
    '{"instance":"a","accesses":[["0000000000000001",1,1e400,1,1]]}',
  ])
    t.throws(() => parseUse(Buffer.from(text)), text)
  fc.assert(
    fc.property(fc.oneof(fc.json(), fc.string()), text => {
      t.throws(() => parseUse(Buffer.from(text)))
    }),
    { numRuns: 200 },
  )
})
