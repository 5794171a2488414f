import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { startSandboxChain } from '../../src/sandbox/sandbox-chain.js'
import { METRICS } from '../../src/shared/metrics.js'
import { callText } from '../fixtures/processes/deployment.js'
import { prepareServe, type Prepared } from '../fixtures/processes/serve.js'
import { until } from '../fixtures/until.js'
import { requirePid } from '../fixtures/processes/require-pid.js'

type Sample = {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}
type Family = { readonly type: string; readonly samples: Sample[] }

const LINE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)\{((?:[a-z]\w*="(?:[^"\\\n]|\\[\\n"])*",?)*)\} (\S+)$/
const VALUE = /^(?:NaN|[+-]Inf|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/
const SUFFIX = /_(?:bucket|sum|count)$/

/** Reads Prometheus' text format as strictly as its grammar is; every fault throws. */
const parsePage = (page: string): ReadonlyMap<string, Family> => {
  const families = new Map<string, Family>()
  const seen = new Set<string>()
  let last = ''
  if (!page.endsWith('\n')) throw new Error('the last line does not end')
  for (const line of page.slice(0, -1).split('\n')) {
    const [, kind, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? []
    if (kind === 'HELP') continue
    if (kind === 'TYPE') {
      if (families.has(name)) throw new Error(`a second TYPE of ${name}`)
      families.set(name, { type: rest, samples: [] })
      last = name
      continue
    }
    const [, series = '', labels = '', value = ''] = LINE.exec(line) ?? []
    if (series === '' || !VALUE.test(value)) throw new Error(`no sample: ${line}`)
    const family = families.get(last)
    const isOwn =
      series === last || (family?.type !== 'gauge' && series.replace(SUFFIX, '') === last)
    if (family === undefined || !isOwn) throw new Error(`${series} is below ${last}`)
    const key = `${series}{${labels}}`
    if (seen.has(key)) throw new Error(`twice: ${key}`)
    seen.add(key)
    const pairs = Array.from(labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g), ([, label, text]) => [
      label,
      text,
    ])
    const number = Number(value.replace('Inf', 'Infinity'))
    family.samples.push({ name: series, labels: Object.fromEntries(pairs), value: number })
  }
  return families
}

/** Buckets only grow, and the last one is the count. */
const checkHistogram = (t: Test, name: string, { samples }: Family): void => {
  const series = new Map<string, Sample[]>()
  for (const sample of samples) {
    const { le: _le, ...labels } = sample.labels
    const key = JSON.stringify(labels)
    series.set(key, [...(series.get(key) ?? []), sample])
  }
  for (const [key, all] of series) {
    const buckets = all.filter(one => one.name.endsWith('_bucket'))
    const counts = buckets.map(({ value }) => value)
    const count = all.find(one => one.name.endsWith('_count'))?.value
    const isRising = counts.every((value, index) => value >= (counts[index - 1] ?? 0))
    const isWhole = buckets.at(-1)?.labels['le'] === '+Inf' && counts.at(-1) === count
    const hasSum = all.some(one => one.name.endsWith('_sum'))
    if (!isRising || !isWhole || !hasSum) t.fail(`${name} ${key}`)
  }
}

const readPage = async ({ metricsUrl }: Prepared): Promise<[Response, string]> => {
  const response = await fetch(metricsUrl)
  return [response, await response.text()]
}

type CountedCall = readonly [method: string, params: unknown, outcome: string, count: number]

t.test('metrics of every process, and a token nowhere', async t => {
  const chain = await startSandboxChain({ seed: 'one', slotMs: 50, trafficPerSecond: 20 })
  t.teardown(() => chain.close())
  const feeds = { dev: { endpoint: chain.geyserUrl, startSlot: chain.chain.options.firstSlot } }
  const prepared = await prepareServe(t, feeds, {
    processes: { edgeCount: 2 },
    log: { level: 'trace' },
  })
  const service = await prepared.start()
  const url = prepared.urlOf('dev')
  const { mint, program, tokenAccount } = chain.samples
  const answers: string[] = []
  const ask = async (input: string, init: RequestInit = {}): Promise<number> => {
    const response = await fetch(input, { ...init, signal: AbortSignal.timeout(10_000) })
    answers.push(JSON.stringify([...response.headers]), await response.text())
    return response.status
  }
  await until('it is indexed', async () =>
    (await callText(url, 'getTokenSupply', [mint])).includes('result'),
  )
  await until('two edges are', async () => {
    const [, page] = await readPage(prepared)
    const tips = page.matchAll(/^slotline_tip_slot\{process="edge .",.*\} [1-9]/gm)
    return [...tips].length === 2
  })

  const page = [program, { encoding: 'base64', limit: 10 }]
  const calls: readonly CountedCall[] = [
    ['getAccountInfo', [tokenAccount], 'ok', 7],
    ['getAccountInfo', ['1'.repeat(45)], 'pubkeySize', 3],
    ['getMultipleAccounts', [[mint, tokenAccount]], 'ok', 2],
    ['getProgramAccountsV2', page, 'ok', 4],
    ['getTokenSupply', [tokenAccount], 'notTokenMint', 1],
    ['getNothing', [], 'methodNotFound', 5],
  ]
  const headers = { 'content-type': 'application/json' }
  for (const [method, params, , count] of calls)
    for (let turn = 0; turn < count; turn += 1) {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
      t.equal(await ask(url, { method: 'POST', headers, body }), 200)
    }

  const [response, text] = await readPage(prepared)
  t.match(response.headers.get('content-type'), /^text\/plain; version=0\.0\.4/)
  const families = parsePage(text)
  for (const [name, family] of families)
    if (family.type === 'histogram') checkHistogram(t, name, family)
  const samplesOf = (name: string): readonly Sample[] => {
    const family = families.get(name) ?? families.get(name.replace(SUFFIX, ''))
    return family?.samples.filter(sample => sample.name === name) ?? []
  }
  const sum = (name: string, labels: Readonly<Record<string, string>>): number =>
    samplesOf(name)
      .filter(one => Object.entries(labels).every(([label, is]) => one.labels[label] === is))
      .reduce((total, { value }) => total + value, 0)

  for (const [name, row] of Object.entries(METRICS))
    t.equal(families.get(row.name)?.type, row.type, `${name} is declared`)
  const names = ['control', 'edge 0', 'edge 1', 'indexer dev', 'sender', 'supervisor']
  const processes = samplesOf('process_resident_memory_bytes').map(one => one.labels['process'])
  t.strictSame(processes.toSorted(), names, 'every process is on the page')

  const [build] = samplesOf('slotline_build_info')
  const { commit = '', ...labels } = build?.labels ?? {}
  t.match(labels, { process: 'supervisor', node: process.versions.node, addon: /^[0-9a-f]{16}$/ })
  t.match(commit, /^[0-9a-f]{40}$/)
  t.match(service.output(), `"commit":"${commit}"`)
  // Two edges: on two cores none is left, and with more the system decides.
  t.equal(sum('slotline_loop_priority', {}), 2, 'each edge has one state')
  t.ok(sum('slotline_disk_free_bytes', {}) > sum('slotline_disk_reserve_bytes', {}))

  for (const [method, , outcome, count] of calls) {
    const series = { method: method === 'getNothing' ? 'unknown' : method, outcome }
    t.equal(sum('slotline_requests_total', series), count, `${method} ${outcome}`)
  }
  t.equal(sum('slotline_request_seconds_count', { method: 'getAccountInfo' }), 10)
  t.ok(sum('slotline_request_seconds_sum', { method: 'getAccountInfo' }) > 0)
  for (const name of ['edge 0', 'edge 1', 'indexer dev'])
    t.ok(sum('slotline_tip_slot', { process: name, network: 'dev' }) > 0, `tip of ${name}`)
  for (const name of ['edge 0', 'edge 1']) {
    t.ok(sum('slotline_tip_age_seconds', { process: name }) < 10, `age of the tip of ${name}`)
    for (const pool of ['scan', 'stream'])
      t.equal(
        samplesOf('slotline_queue_depth').filter(
          ({ labels }) => labels['process'] === name && labels['pool'] === pool,
        ).length,
        1,
        `queue ${pool} of ${name}`,
      )
  }
  const indexer = { process: 'indexer dev' }
  t.equal(samplesOf('slotline_feed_lag_seconds').length, 1)
  t.ok(sum('slotline_feed_kept_bytes', indexer) > 1_000)
  t.ok(sum('slotline_feed_kept_slots', indexer) > 3)
  t.equal(sum('slotline_feed_healthy', indexer), 1)
  t.ok(sum('slotline_store_used_bytes', indexer) > 10_000)
  t.equal(sum('slotline_store_map_bytes', indexer), 1024 ** 4)
  t.equal(samplesOf('slotline_store_readers').length, 1)
  t.ok(sum('slotline_store_reader_lag_transactions', indexer) < 100)
  t.ok(sum('slotline_blocks_applied_total', indexer) > 3)
  t.ok(sum('slotline_accounts_applied_total', indexer) > 10)
  t.ok(sum('slotline_apply_seconds_count', indexer) > 3)

  // Everything that can go wrong with a token in hand.
  const token = prepared.tokenOf('dev', 'fra')
  const origin = new URL(url).origin
  const body = '{"jsonrpc":"2.0","id":1,"method":"getLatestBlockhash"}'
  const tries: readonly [path: string, init: RequestInit, status: number][] = [
    [`/${token}`, {}, 405],
    [`/${token}`, { method: 'PUT', body }, 405],
    [`/${token}/more`, { method: 'POST', headers, body }, 404],
    [`/more/${token}?token=${token}`, {}, 404],
    [`/${token}x`, { method: 'POST', headers, body }, 401],
    [`/${prepared.tokenOf('dev', 'nyc')}`, { method: 'POST', headers, body }, 401],
    [`/${token}`, { method: 'POST', headers: { 'content-type': 'text/html' }, body }, 415],
    [`/${token}`, { method: 'POST', headers, body: `{"token":"${token}"` }, 200],
    [`/${token}`, { method: 'POST', headers, body: 'x'.repeat(9 * 1024 ** 2) }, 413],
    ['/', { method: 'POST', headers: { ...headers, 'x-token': token }, body }, 200],
    ['/', { method: 'POST', headers: { ...headers, 'x-token': `${token}x` }, body }, 401],
    ['/', { method: 'POST', headers: { ...headers, authorization: `Bearer ${token}` }, body }, 200],
  ]
  for (const [path, init, status] of tries)
    // A body that is refused unread may end as a reset connection.
    t.ok([status, 0].includes(await ask(`${origin}${path}`, init).catch(() => 0)), `${status}`)

  // An incomplete request, an edge that is killed with it, a feed that disconnects: all of that is
  // logged.
  const [, , port = ''] = origin.split(':')
  const cut = connect(Number(port), '127.0.0.1')
  cut.on('error', () => {})
  cut.write(`POST /${token} HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{`)
  chain.geyser.dropConnections()
  const killed = requirePid(service.pidsOf('edge')[0])
  process.kill(killed, 'SIGKILL')
  const readEnd = async (): Promise<string> => (await readPage(prepared))[1]
  await until('the restart is counted', async () =>
    /^slotline_process_restarts_total\{process="supervisor",role="edge"\} 1$/m.test(
      await readEnd(),
    ),
  )
  await until('both edges are back', () => service.pidsOf('edge').length === 2)
  const lastPage = await readEnd()
  cut.destroy()
  t.equal(await service.stop(), 0)

  t.ok(service.output().includes('"process ended"'), 'there are logs to search')
  const searched = { output: service.output(), metrics: text + lastPage, answers: answers.join() }
  const tokens = ['fra', 'nyc'].map(location => prepared.tokenOf('dev', location))
  for (const [where, all] of Object.entries(searched))
    for (const secret of tokens) {
      t.notOk(all.includes(secret), `no token in ${where}`)
      t.notOk(all.includes(secret.slice(4, 36)), `nor the half of it in ${where}`)
    }
})
