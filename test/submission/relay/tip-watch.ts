import t, { type Test } from 'tap'
import { createLog } from '../../../src/shared/log.js'
import { watchTips } from '../../../src/submission/relay/tip-watch.js'
import { createTokenBucket } from '../../../src/submission/relay/token-bucket.js'
import { defaults } from '../../../src/upstream/options.js'
import { Upstream } from '../../../src/upstream/client.js'
import { answer, openRawUpstream } from '../../fixtures/submission/raw-upstream.js'
import { until } from '../../fixtures/until.js'

const TIPS = ['a', 'b', 'c']

const open = async (t: Test, body: () => string, tipCheckMs = 3_600_000) => {
  const engine = await openRawUpstream(t, socket => socket.write(answer(body())))
  const lines: string[] = []
  const log = createLog('test', line => lines.push(line))
  const now = () => performance.now()
  const upstream = new Upstream({ ...defaults, pingPath: '', urls: [engine.url] }, { log, now })
  t.teardown(() => upstream.close())
  const clock = { ns: 1_000_000_000_000n }
  const words = new BigInt64Array(2)
  const bucketOf = (index: number, requestsPerSecondMax: number, requestsBurstMax: number) =>
    createTokenBucket(
      { requestsPerSecondMax, requestsBurstMax },
      { words, index, nowNs: () => clock.ns },
    )
  const bucket = bucketOf(0, 1, 1)
  const compared: boolean[] = []
  const watch = () => {
    const watching = watchTips(
      { network: 'main', route: '/relay-bundle', path: '/x', engineTipAccounts: TIPS, tipCheckMs },
      {
        upstream,
        bucket,
        intervals: bucketOf(1, 1_000 / Math.max(1, tipCheckMs), 1),
        log,
        onCompared: isSame => compared.push(isSame),
      },
    )
    t.teardown(() => watching.close())
    return watching
  }
  return { engine, lines, clock, bucket, compared, watch }
}

t.test('the same accounts in another order are the same', async t => {
  const { engine, lines, compared, watch } = await open(t, () => '{"result":["c","a","b"]}')
  watch()
  await until('it has compared', () => compared.length === 1)
  t.strictSame(compared, [true])
  t.strictSame(lines, [])
  t.strictSame(JSON.parse(engine.received[0]?.body.toString() ?? ''), {
    jsonrpc: '2.0',
    id: 1,
    method: 'getTipAccounts',
    params: [],
  })
  t.equal(engine.received[0]?.path, '/x')
})

t.test('other tip accounts are logged by name', async t => {
  const cases: [said: string[], notConfigured: string[], notOfTheEngine: string[]][] = [
    [['a', 'b', 'c', 'd'], ['d'], []],
    [['a', 'b'], [], ['c']],
    [['x'], ['x'], TIPS],
  ]
  for (const [said, notConfigured, notOfTheEngine] of cases) {
    const { lines, compared, watch } = await open(t, () => JSON.stringify({ result: said }))
    watch()
    await until('it has compared', () => compared.length === 1)
    t.strictSame(compared, [false])
    t.match(JSON.parse(lines[0] ?? '{}'), { level: 'warn', notConfigured, notOfTheEngine })
  }
})

t.test('an answer without a list compares nothing', async t => {
  for (const said of [
    '',
    '{',
    'null',
    '[]',
    '{"result":null}',
    '{"result":[]}',
    '{"result":[1]}',
    '{"error":{}}',
  ]) {
    const { lines, compared, watch } = await open(t, () => said)
    watch()
    await until('it is logged', () => lines.length === 1)
    t.match(JSON.parse(lines[0] ?? '{}'), { level: 'info' }, said)
    t.strictSame(compared, [])
  }
})

t.test('one edge asks, and only when it is time', async t => {
  const { engine, clock, compared, watch } = await open(t, () => '{"result":["a","b","c"]}', 20)
  watch()
  watch()
  await until('one has asked', () => compared.length === 1)
  await new Promise(resolve => setTimeout(resolve, 100))
  t.equal(engine.received.length, 1)
  clock.ns += 3_000_000_000n
  await until('one has asked again', () => compared.length === 2)
  await new Promise(resolve => setTimeout(resolve, 60))
  t.equal(engine.received.length, 2)
})

t.test('it asks within the bucket', async t => {
  const { engine, clock, bucket, compared, watch } = await open(t, () => '{"result":["a","b","c"]}')
  t.equal(bucket.take(), 0)
  watch()
  await new Promise(resolve => setTimeout(resolve, 50))
  t.equal(engine.received.length, 0)
  clock.ns += 1_000_000_000n
  await until('there is a token', () => compared.length === 1)
  t.equal(bucket.take(), 1_000)
})

t.test('it never asks where it is not to, nor once it is closed', async t => {
  const never = await open(t, () => '{"result":["a"]}', 0)
  never.watch()
  const closed = await open(t, () => '{"result":["a"]}')
  closed.bucket.take()
  closed.watch().close()
  closed.clock.ns += 10_000_000_000n
  await new Promise(resolve => setTimeout(resolve, 50))
  t.equal(never.engine.received.length + closed.engine.received.length, 0)
  t.strictSame(closed.lines, [])
})
