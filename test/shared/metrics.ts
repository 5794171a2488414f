import { closeSync, openSync } from 'node:fs'
import { createRequire } from 'node:module'
import fc from 'fast-check'
import t from 'tap'
import {
  createMetrics,
  formatMetrics,
  METRICS,
  type MetricsSnapshot,
} from '../../src/shared/metrics.js'

/** A snapshot as it arrives from another process. */
const take = async (metrics: ReturnType<typeof createMetrics>): Promise<MetricsSnapshot> =>
  JSON.parse(JSON.stringify(await metrics.snapshot()))

const ours = (text: string): string[] =>
  text.split('\n').filter(line => line.startsWith('slotline_') && !line.includes('_bucket'))

t.test('metric names follow the conventions of Prometheus', t => {
  const names = new Set<string>()
  for (const { name, type, unit, labels, help } of Object.values(METRICS)) {
    t.match(name, /^slotline_[a-z]+(_[a-z]+)*$/)
    t.equal(name.endsWith('_total'), type === 'counter', name)
    if (unit === 'seconds') t.match(name, /_seconds$/)
    if (unit === 'bytes') t.match(name, /_bytes(_total)?$/)
    t.notMatch(labels, ['process'])
    t.ok(help.length > 10 && !help.includes('\n'), name)
    t.notOk(names.has(name), `${name} once`)
    names.add(name)
  }
  t.end()
})

t.test('the series of all processes are joined', async t => {
  const [edge, indexer] = [createMetrics('edge 0'), createMetrics('indexer')]
  const labels = { method: 'getAccountInfo', outcome: 'ok' }
  edge.counter('requests', labels).add(2)
  edge.counter('requests', labels).add(1)
  edge.counter('requests', { method: 'getAccountInfo', outcome: 'pubkeySize' }).add(1)
  edge.counter('httpAborts')
  indexer.gauge('tipSlot', { network: 'a"b\\c\nd' }).set(250_000_000)
  indexer.gauge('tipAge', { network: 'main' }).set(Number.NaN)
  const text = formatMetrics([await take(edge), await take(indexer)])
  t.strictSame(ours(text), [
    'slotline_requests_total{process="edge 0",method="getAccountInfo",outcome="ok"} 3',
    'slotline_requests_total{process="edge 0",method="getAccountInfo",outcome="pubkeySize"} 1',
    'slotline_http_aborts_total{process="edge 0"} 0',
    'slotline_tip_slot{process="indexer",network="a\\"b\\\\c\\nd"} 250000000',
    'slotline_tip_age_seconds{process="indexer",network="main"} NaN',
  ])
  for (const process of ['edge 0', 'indexer'])
    t.match(text, new RegExp(`^process_resident_memory_bytes\\{process="${process}"\\} \\d+$`, 'm'))
})

t.test('the text is valid in the format of Prometheus', async t => {
  const [a, b] = [createMetrics('a'), createMetrics('b')]
  for (const metrics of [a, b]) metrics.histogram('requestSeconds', { method: 'x' }).observe(0.002)
  const text = formatMetrics([await take(a), await take(b)])
  t.match(text, /\n$/)
  const typed = new Set<string>()
  const seen = new Set<string>()
  let current = ''
  for (const line of text.trimEnd().split('\n')) {
    const head = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line)
    if (head !== null) {
      current = head[2] ?? ''
      if (head[1] === 'TYPE') {
        t.notOk(typed.has(current), `${current} is typed once`)
        typed.add(current)
      }
      continue
    }
    const sample = /^([a-z0-9_]+)(\{[^}]*\}) (\S+)$/.exec(line)
    t.ok(sample, line)
    t.ok(sample?.[1]?.startsWith(current), `${line} is below its own header`)
    t.ok(Number.isFinite(Number(sample?.[3])) || sample?.[3] === 'NaN', line)
    t.notOk(seen.has(`${sample?.[1]}${sample?.[2]}`), `${line} once`)
    seen.add(`${sample?.[1]}${sample?.[2]}`)
  }
})

t.test('a histogram counts each duration in its bucket and all above', async t => {
  const metrics = createMetrics('edge')
  const seconds = [0, 0.000_05, 0.000_051, 0.001, 0.7, 30, 31, 1e9]
  for (const one of seconds) metrics.histogram('requestSeconds', { method: 'm' }).observe(one)
  const text = formatMetrics([await take(metrics)])
  const cumulative = (le: string): number =>
    Number(new RegExp(`_bucket\\{process="edge",method="m",le="${le}"\\} (\\d+)`).exec(text)?.[1])
  const cases: [le: string, count: number][] = [
    ['0.00005', 2],
    ['0.0001', 3],
    ['0.0005', 3],
    ['0.001', 4],
    ['0.5', 4],
    ['1', 5],
    ['30', 6],
    ['\\+Inf', 8],
  ]
  for (const [le, count] of cases) t.equal(cumulative(le), count, le)
  t.match(text, /_count\{process="edge",method="m"\} 8/)
  t.match(text, /_sum\{process="edge",method="m"\} 1000000061.70/)
})

t.test('buckets equal a count by hand', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.double({ min: 0, max: 40, noNaN: true })), async seconds => {
      const metrics = createMetrics('edge')
      const histogram = metrics.histogram('applySeconds', { network: 'n' })
      for (const one of seconds) histogram.observe(one)
      const text = formatMetrics([await take(metrics)])
      for (const [, le = '', count = ''] of text.matchAll(
        /apply_seconds_bucket.*le="([^"]+)"\} (\d+)/g,
      )) {
        const end = le === '+Inf' ? Infinity : Number(le)
        if (seconds.filter(one => one <= end).length !== Number(count)) return false
      }
      return text.includes(`apply_seconds_count{process="edge",network="n"} ${seconds.length}\n`)
    }),
    { numRuns: 20 },
  )
})

t.test('collectors run before each snapshot', async t => {
  const metrics = createMetrics('edge')
  const gauge = metrics.gauge('queueDepth', { pool: 'scan' })
  let depth = 0
  metrics.beforeSnapshot(() => gauge.set(++depth))
  await metrics.snapshot()
  t.match(
    formatMetrics([await take(metrics)]),
    'slotline_queue_depth{process="edge",pool="scan"} 2',
  )
})

t.test('the event loop is sampled from the first snapshot on', async t => {
  // What prom-client calls: an import of this module cannot be changed.
  const hooks = createRequire(import.meta.url)(
    'node:perf_hooks',
  ) as typeof import('node:perf_hooks')
  const original = hooks.monitorEventLoopDelay
  let count = 0
  hooks.monitorEventLoopDelay = options => {
    count++
    return original(options)
  }
  t.teardown(() => void (hooks.monitorEventLoopDelay = original))
  const metrics = createMetrics('edge')
  t.equal(count, 0)
  t.match(formatMetrics([await take(metrics)]), 'nodejs_eventloop_lag_p99_seconds{process="edge"}')
  await take(metrics)
  t.equal(count, 1)
})

t.test('open descriptors are counted', { skip: process.platform !== 'linux' }, async t => {
  const metrics = createMetrics('edge 0')
  const count = async (): Promise<number> => {
    const { node } = await take(metrics)
    return node.find(({ name }) => name === 'process_open_fds')?.values[0]?.value ?? Number.NaN
  }
  const before = await count()
  const opened = Array.from({ length: 100 }, () => openSync('/dev/null', 'r'))
  const with100 = await count()
  for (const descriptor of opened) closeSync(descriptor)
  // Others of the process come and go.
  t.ok(before > 2 && Math.abs(with100 - before - 100) <= 10, `${before} and ${with100}`)
  t.ok(Math.abs((await count()) - before) <= 10)
})

t.test('the number of series is bounded', t => {
  const metrics = createMetrics('edge')
  t.throws(
    () => {
      for (let n = 0; n < 5_000; n++) metrics.counter('refusals', { reason: `${n}` })
    },
    { message: /over 4096 series/ },
  )
  t.end()
})
