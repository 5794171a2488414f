import t from 'tap'
import { createRefusalMeter } from '../../../src/access/usage/refusal-meter.js'
import { readUsage } from '../../../src/access/usage/reader.js'
import { openUsage } from '../../../src/access/usage/usage.js'
import { NOW_MS } from '../../fixtures/access/access.js'
import { until } from '../../fixtures/until.js'

const setUp = (dir: string) => {
  const onFault = (fault: unknown): never => {
    throw fault
  }
  const { onRefused, flush } = createRefusalMeter(openUsage(dir, 0, { onFault }))
  return { onRefused, flush, refusedOf: (name: string) => readUsage(dir, name, NOW_MS).refused }
}

t.test('refusals are counted for their token, or for none, soon after', async t => {
  const { onRefused, refusedOf } = setUp(t.testdir())
  onRefused('location', 'tok_1', '192.0.2.1', NOW_MS)
  onRefused('unknown', undefined, '192.0.2.2', NOW_MS)
  t.strictSame(refusedOf('tok_1'), [], 'not in the time of the answer')
  await until('it is counted', () => refusedOf('tok_1').length > 0)
  t.strictSame(refusedOf('tok_1'), [{ atMs: NOW_MS, address: '192.0.2.1', reason: 'location' }])
  t.strictSame(refusedOf('unknown'), [{ atMs: NOW_MS, address: '192.0.2.2', reason: 'unknown' }])
})

t.test('a flood waits in no queue', async t => {
  const { onRefused, flush, refusedOf } = setUp(t.testdir())
  for (let nth = 0; nth < 1_024; nth++) onRefused('ended', 'tok_1', '192.0.2.1', NOW_MS)
  t.equal(refusedOf('tok_1').length, 64)
  onRefused('early', 'tok_2', '192.0.2.1', NOW_MS)
  flush()
  t.match(refusedOf('tok_2'), [{ reason: 'early' }])
})
