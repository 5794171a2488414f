import t from 'tap'
import { defaults } from '../../src/usage/options.js'
import { FAILURES_MAX } from '../../src/usage/schema.js'
import { MINUTE_MS, type TokenScope } from '../../src/usage/scope.js'
import { UsageWriter } from '../../src/usage/store.js'
import { NOW_MS } from '../fixtures/access/access.js'
import { openUsage, usageIn } from '../fixtures/usage/usage.js'

const scopeOf = (accessId: string): TokenScope => ({ accessId, network: 'main', location: 'fra' })
const read = async (dir: string, accessId = 'acc_1', limit = FAILURES_MAX) =>
  usageIn(dir, () => NOW_MS).failures(accessId, limit, [])

t.test('failed calls are listed newest first, over all edges, also after a kill', async t => {
  const dir = t.testdir()
  const fail = (edge: number, text: string, nowMs: number): void => {
    const failure = { code: -32_602, text, origin: 'upstream', addressOf: () => '8.8.8.8' } as const
    openUsage(dir, edge).meterOf(scopeOf('acc_1')).addCall('getSlot', { failure }, nowMs)
  }
  fail(0, 'first', NOW_MS)
  fail(1, `${'é'.repeat(255)}a€`, NOW_MS + 1)
  // Nothing was closed: this is the state after a kill.
  fail(0, 'last', NOW_MS + 2)
  const call = {
    network: 'main',
    location: 'fra',
    method: 'getSlot',
    code: -32_602,
    origin: 'upstream',
    address: '8.8.8.8',
  }
  const writer = new UsageWriter(dir)
  for (const when of ['live', 'recorded', 'recorded again']) {
    const { failures, leftOut } = await read(dir)
    t.strictSame(
      failures,
      [
        { atMs: NOW_MS + 2, ...call, text: 'last' },
        { atMs: NOW_MS + 1, ...call, text: `${'é'.repeat(255)}a` },
        { atMs: NOW_MS, ...call, text: 'first' },
      ],
      when,
    )
    t.equal(leftOut, 0)
    t.strictSame((await read(dir, 'acc_1', 1)).failures.length, 1)
    t.strictSame(await read(dir, 'acc_2'), { failures: [], leftOut: 0 })
    await writer.record()
    if (when === 'recorded') openUsage(dir)
  }
})

t.test('a flood is counted, and lists no more than its rate', async t => {
  const dir = t.testdir()
  const meter = openUsage(dir).meterOf(scopeOf('acc_1'))
  const writer = new UsageWriter(dir)
  let written = 0
  const failure = { code: -32_600, text: 'x', addressOf: () => ((written += 1), '') }
  for (let count = 0; count < 10_000; count++) meter.addCall('getSlot', { failure }, NOW_MS)
  t.equal(written, FAILURES_MAX)
  t.equal((await read(dir)).leftOut, 9_000)
  await writer.record()
  for (let second = 1; second <= 30; second++)
    for (let count = 0; count < 100; count++)
      meter.addCall('getSlot', { failure }, NOW_MS + second * 1_000)
  t.equal(written, FAILURES_MAX + 30 * defaults.failuresPerSecondMax)
  await writer.record()
  const { failures } = await read(dir)
  t.equal(failures.length, FAILURES_MAX)
  t.equal(failures[0]?.atMs, NOW_MS + 30_000, 'the newest ones')
})

t.test('a flood of one access takes no room of another', async t => {
  const dir = t.testdir()
  const usage = openUsage(dir, 0, { failuresPerSecondMax: 1_000 })
  const failure = { code: -32_600, text: 'x' }
  const fail = (accessId: string, nth: number): void =>
    usage.meterOf(scopeOf(accessId)).addCall('getSlot', { failure }, NOW_MS + nth)
  // The recorder is away, and four accesses fail as fast as they can.
  for (let nth = 0; nth < 20_000; nth++) fail(`acc_${nth % 4}`, nth)
  fail('acc_9', 20_000)
  t.equal((await read(dir, 'acc_9')).failures.length, 1)
  const found = await read(dir, 'acc_0')
  t.ok(found.leftOut > 3_000 && found.failures.length > 500)
  await new UsageWriter(dir).record()
  fail('acc_0', 20_001)
  t.equal((await read(dir, 'acc_0')).failures[0]?.atMs, NOW_MS + 20_001, 'there is room again')
})

t.test('no token is kept that a client sent as a method or an upstream repeats', async t => {
  const dir = t.testdir()
  const token = `slt_${'a1B2'.repeat(12)}`
  const meter = openUsage(dir).meterOf(scopeOf('acc_1'))
  const texts = [`${'x'.repeat(480)} no method ${token}`, '\u0001'.repeat(512), '"\\'.repeat(300)]
  for (const text of texts) meter.addCall(token, { failure: { code: -32_601, text } }, NOW_MS)
  meter.addCall(
    'x'.repeat(8 * 1024 * 1024),
    { failure: { code: 1, text: 'y'.repeat(1e6) } },
    NOW_MS,
  )
  const { failures } = await read(dir)
  t.equal(failures.length, texts.length + 1)
  t.notMatch(JSON.stringify(failures), 'a1B2')
  t.ok(failures.every(({ text }) => text.length > 50 && text.length <= 512))
})

t.test('an access without room in the store keeps its counts', async t => {
  const dir = t.testdir()
  const usage = openUsage(dir)
  usage.meterOf(scopeOf('acc_1')).addCall('getSlot', { failure: { code: 7 } }, NOW_MS)
  usage.sweep(NOW_MS + MINUTE_MS)
  const writer = new UsageWriter(dir)
  await Promise.all([writer.record(), writer.record(), new UsageWriter(dir).record()])
  t.equal((await read(dir)).failures.length, 1, 'two recorders at a time record each once')
})
