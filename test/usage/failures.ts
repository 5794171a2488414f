import fc from 'fast-check'
import t from 'tap'
import type { FailureQuery } from '../../src/dashboard/api/usage.js'
import type { CallSource } from '../../src/usage/calls.js'
import { PARAMS_BYTES_MAX, paramsText } from '../../src/usage/failure-params.js'
import { defaults } from '../../src/usage/options.js'
import { FAILURES_MAX } from '../../src/usage/schema.js'
import { MINUTE_MS, type TokenScope } from '../../src/usage/scope.js'
import { redactTokens } from '../../src/shared/log.js'
import { UsageWriter } from '../../src/usage/store.js'
import { NOW_MS } from '../fixtures/access/access.js'
import { ANY_FAILURES, openUsage, usageIn } from '../fixtures/usage/usage.js'
import { latencyMax } from '../fixtures/soak.js'

const scopeOf = (accessId: string): TokenScope => ({ accessId, network: 'main', location: 'fra' })
const read = async (dir: string, accessId = 'acc_1', query: Partial<FailureQuery> = {}) =>
  usageIn(dir, () => NOW_MS).failures(accessId, { ...ANY_FAILURES, ...query }, [])

const sourceOf = (address: string): CallSource => ({ id: `req-${address}`, address, bytes: 300 })

t.test('failed calls are listed newest first, over all edges, also after a kill', async t => {
  const dir = t.testdir()
  const fail = (edge: number, text: string, nowMs: number): void => {
    const source = { ...sourceOf('8.8.8.8'), slot: 7 }
    const failure = { code: -32_602, text, origin: 'upstream', source } as const
    const meter = openUsage(dir, edge).meterOf(scopeOf('acc_1'))
    meter.addCall('getSlot', { failure, elapsedMs: 1.5 }, nowMs)
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
    request: 'req-8.8.8.8',
    bytes: 300,
    elapsedMs: 1.5,
    slot: 7,
    params: '',
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
    t.strictSame((await read(dir, 'acc_1', { limit: 1 })).failures.length, 1)
    t.strictSame(await read(dir, 'acc_2'), { failures: [], groups: [], leftOut: 0 })
    await writer.record()
    if (when === 'recorded') openUsage(dir)
  }
})

t.test('a flood is counted, and lists no more than its rate', async t => {
  const dir = t.testdir()
  const meter = openUsage(dir).meterOf(scopeOf('acc_1'))
  const writer = new UsageWriter(dir)
  let written = 0
  const source = {
    id: '',
    get address() {
      return `${(written += 1)}`
    },
  }
  const failure = { code: -32_600, text: 'x', source }
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

t.test(
  'a flood over a limit lists a few, with their addresses, and displaces no other',
  async t => {
    const dir = t.testdir()
    const meter = openUsage(dir).meterOf(scopeOf('acc_1'))
    const writer = new UsageWriter(dir)
    meter.addCall('getSlot', { failure: { code: -32_602, source: sourceOf('8.8.8.8') } }, NOW_MS)
    const limited = { code: 429, text: 'over requestsPerSecondMax, 10', origin: 'limit' } as const
    for (let second = 0; second < 300; second++) {
      for (let count = 0; count < 100; count++)
        meter.addRateLimited('(none)', NOW_MS + second * 1_000, {
          ...limited,
          source: sourceOf(count % 3 === 0 ? '9.9.9.1' : '9.9.9.2'),
        })
      if (second % 60 === 0) await writer.record()
    }
    const found = await read(dir)
    t.equal(found.leftOut, 0, 'they are counted as 429')
    t.ok(found.groups.some(({ code, count }) => code === -32_602 && count === 1))
    await writer.record()
    const { failures, groups } = await read(dir, 'acc_1', { origin: 'limit' })
    t.equal(failures.length, FAILURES_MAX)
    t.strictSame(groups.map(({ address }) => address).toSorted(), ['9.9.9.1', '9.9.9.2'])
    t.match(failures[0], { code: 429, method: '(none)', request: /^req-9/, elapsedMs: null })
    t.equal((await read(dir, 'acc_1', { origin: 'service' })).failures.length, 1)
  },
)

t.test('a filter finds what it names, and groups count all that match', async t => {
  const dir = t.testdir()
  const usage = openUsage(dir)
  const add = (location: string, method: string, code: number, address: string, nth: number) =>
    usage
      .meterOf({ ...scopeOf('acc_1'), location })
      .addCall(method, { failure: { code, source: sourceOf(address) } }, NOW_MS + nth)
  add('fra', 'getSlot', -32_602, '8.8.8.8', 0)
  add('fra', 'getSlot', -32_602, '8.8.4.4', 1)
  add('nyc', 'getSlot', -32_603, '8.8.8.8', 2)
  add('nyc', 'getBlock', -32_603, '8.8.8.8', 3)
  const cases: [query: Partial<FailureQuery>, count: number][] = [
    [{}, 4],
    [{ method: 'getSlot' }, 3],
    [{ code: '-32603' }, 2],
    [{ location: 'nyc' }, 2],
    [{ address: '8.8.8.8', method: 'getSlot' }, 2],
    [{ fromMs: NOW_MS + 1, untilMs: NOW_MS + 3 }, 2],
    [{ origin: 'upstream' }, 0],
    [{ method: "' OR 1=1 --" }, 0],
  ]
  for (const when of ['live', 'recorded']) {
    for (const [query, count] of cases) {
      const { failures, groups } = await read(dir, 'acc_1', { ...query, limit: 2 })
      t.equal(failures.length, Math.min(2, count), `${when}: ${JSON.stringify(query)}`)
      t.equal(
        groups.reduce((sum, group) => sum + group.count, 0),
        count,
      )
    }
    usage.sweep(NOW_MS + MINUTE_MS)
    await new UsageWriter(dir).record()
  }
})

t.test('parameters are kept whole up to a KiB, without tokens or transactions', async t => {
  const dir = t.testdir()
  const meter = openUsage(dir).meterOf(scopeOf('acc_1'))
  const token = `slt_${'a1B2'.repeat(9)}`
  const all: [method: string, params: unknown, kept: string][] = [
    ['getSlot', [{ commitment: 'é€"\\' }], JSON.stringify([{ commitment: 'é€"\\' }])],
    ['getSlot', ['"'.repeat(5_000)], `["${'\\"'.repeat(511)}`],
    ['getSlot', [token, 1, null, true], '["slt_[redacted]",1,null,true]'],
    ['sendTransaction', ['AAAA'], ''],
    ['getSlot', undefined, ''],
  ]
  for (const [nth, [method, params]] of all.entries()) {
    const failure = { code: 1, source: sourceOf('8.8.8.8'), params }
    meter.addCall(method, { failure }, NOW_MS + nth)
  }
  for (const when of ['live', 'recorded']) {
    const { failures } = await read(dir)
    t.strictSame(
      failures.map(({ params }) => params).toReversed(),
      all.map(one => one[2]),
      when,
    )
    await new UsageWriter(dir).record()
  }
})

t.test('the beginning of parameters is that of their JSON, and takes no longer than it', t => {
  fc.assert(
    fc.property(fc.jsonValue(), value => {
      const text = paramsText('getSlot', value) ?? ''
      // Also of one that looks like a token, as the key `sLk_A` does.
      const whole = redactTokens(JSON.stringify(value))
      t.ok(whole.startsWith(text.replace(/[^\x00-\x7f]*$/u, '')))
      t.ok(Buffer.byteLength(text) <= PARAMS_BYTES_MAX)
    }),
    { numRuns: 200, examples: [[[{ sLk_A: 0 }]]] },
  )
  const long = ['x'.repeat(8_000_000), Array.from({ length: 1_000_000 }, () => [])]
  const startMs = performance.now()
  paramsText('getSlot', long)
  paramsText('getSlot', [...long].toReversed())
  t.ok(performance.now() - startMs < latencyMax(50))
  t.end()
})
