import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { setUpKeys } from '../../../fixtures/dashboard/keys.js'
import { ownDir } from '../../../fixtures/own-dir.js'
import { repositoryPath } from '../../../fixtures/repository.js'
import { skipAbsent } from '../../../fixtures/skip-absent.js'
import { openUsage } from '../../../fixtures/usage/usage.js'
import { UsageWriter, type EndRow } from '../../../../src/usage/store.js'

const HOUR_MS = 3_600_000

const promtool = (args: readonly string[], input = '') =>
  spawnSync('promtool', args, { encoding: 'utf8', input })

t.test('metrics of an access are what was counted, over a kill of the edge', async t => {
  const dataDir = ownDir(t)
  const { dashboard, accessId, ask, make, path } = await setUpKeys(t, { dataDir })
  const { secret } = await make('usage:read')
  const nowMs = dashboard.clock.nowMs
  const count = (edge: number, times: number) => {
    const meter = openUsage(dataDir, edge).meterOf({ accessId, network: 'main', location: 'fra' })
    for (let nth = 0; nth < times; nth++) {
      meter.addRequests(1, nowMs)
      meter.addCall('getSlot', { elapsedMs: 3 }, nowMs)
    }
    meter.addRequests(1, nowMs)
    meter.addCall('getSlot', { failure: { code: -32_602 }, elapsedMs: 0.1 }, nowMs)
  }
  count(0, 5)
  const hour = Math.floor(nowMs / HOUR_MS)
  const end = (
    id: string,
    at: number,
    figure: EndRow[9],
    slots: string,
    delays: string,
  ): EndRow => [
    ...([
      id,
      accessId,
      'main',
      'fra',
      '/race',
      'fast',
      at * 60,
      0,
      0,
      figure,
      slots,
      delays,
    ] as const),
  ]
  await new UsageWriter(dataDir).addEnds([
    end('1', hour, 'landed', '{"2":1}', '{"30":1}'),
    end('2', hour, 'expired', '{}', '{}'),
    // Of the week before.
    end('3', hour - 8 * 24, 'landed', '{"2":1}', '{"30":1}'),
  ])
  const read = async (): Promise<ReadonlyMap<string, number>> => {
    const { headers, status, text } = await ask(secret, 'GET', `${path}/metrics`)
    t.equal(status, 200)
    t.equal(headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
    const lines = text.split('\n').filter(line => line !== '' && !line.startsWith('#'))
    return new Map(
      lines.map(line => {
        const at = line.lastIndexOf(' ')
        return [line.slice(0, at), Number(line.slice(at + 1))]
      }),
    )
  }
  const at = 'network="main",location="fra"'
  const expect = async (expected: Readonly<Record<string, number>>) => {
    const found = await read()
    for (const [series, value] of Object.entries(expected))
      t.equal(found.get(`slotline_access_${series}`), value, series)
  }
  await expect({
    [`requests_total{${at},method="getSlot"}`]: 6,
    [`errors_total{${at},method="getSlot",code="-32602"}`]: 1,
    [`request_seconds_count{${at}}`]: 6,
    [`request_seconds_bucket{${at},le="0.000256"}`]: 1,
    [`request_seconds_bucket{${at},le="0.004096"}`]: 6,
    [`submissions_total{${at},route="/race",lane="fast",state="landed"}`]: 1,
    [`submissions_total{${at},route="/race",lane="fast",state="expired"}`]: 1,
    [`landing_slots_bucket{${at},route="/race",le="1"}`]: 0,
    [`landing_slots_bucket{${at},route="/race",le="2"}`]: 1,
    [`landing_seconds_count{${at},route="/race"}`]: 1,
    'limit{limit="socketsMax"}': 4,
    'sockets{}': 0,
    'over_limit_total{limit="requestsPerSecondMax"}': 0,
  })
  count(1, 2)
  // Opened again, as after a kill.
  count(0, 1)
  await expect({
    [`requests_total{${at},method="getSlot"}`]: 11,
    [`errors_total{${at},method="getSlot",code="-32602"}`]: 3,
  })
  const { text } = await ask(secret, 'GET', `${path}/metrics`)
  const { error, status, stderr, stdout } = promtool(['check', 'metrics'], text)
  if (error !== undefined)
    return skipAbsent(t, 'no promtool in PATH: install it with `apt-get install prometheus`')
  t.equal(status, 0, `${stdout}${stderr}`)
})

t.test('many methods and codes are a bounded number of series', async t => {
  const { ask, make, path } = await setUpKeys(t, {
    figures: async ({ limits }) => ({
      methods: Array.from({ length: 500 }, (_, nth) => ({
        ...{ network: 'main', location: 'fra', method: `m${nth}`, requests: 100, errors: 100 },
        ...{ rateLimited: 0, latencies: '{}' },
        codes: JSON.stringify(
          Object.fromEntries(Array.from({ length: 90 }, (_, code) => [code, 1])),
        ),
      })),
      submissions: [],
      overLimit: { ...limits },
      use: {
        ...{ requestsInFlight: 0, requestsLastSecond: 0, sockets: 0, subscriptions: 0 },
        subscriptionsOfSocket: 0,
      },
      limits,
    }),
  })
  const { secret } = await make('usage:read')
  const { text } = await ask(secret, 'GET', `${path}/metrics`)
  const series = text
    .split('\n')
    .filter(line => /^slotline_access_(requests|errors)_total/.test(line))
  t.equal(series.length, 129 + 129 * 17)
  const sum = (name: string) =>
    series
      .filter(line => line.startsWith(name))
      .reduce((all, line) => all + Number(line.slice(line.lastIndexOf(' '))), 0)
  t.equal(sum('slotline_access_requests_total'), 50_000, 'nothing is lost')
  t.equal(sum('slotline_access_errors_total'), 50_000)
})

t.test('counters that lack a machine are not answered', async t => {
  const { ask, make, path } = await setUpKeys(t, {
    figures: async ({ limits }) => ({
      ...{ methods: [], submissions: [], overLimit: limits, limits, missing: ['fra-2'] },
      use: {
        ...{ requestsInFlight: 0, requestsLastSecond: 0, sockets: 0, subscriptions: 0 },
        subscriptionsOfSocket: 0,
      },
    }),
  })
  const { secret } = await make('usage:read')
  t.match(await ask(secret, 'GET', `${path}/metrics`), {
    status: 503,
    json: { error: { code: 'metricsIncomplete' } },
  })
  const other = await make('submissions:read')
  t.equal((await ask(other.secret, 'GET', `${path}/metrics`)).status, 403)
})

t.test('the scrape configuration of the docs is one', async t => {
  const page = readFileSync(repositoryPath('docs/dashboard.md'), 'utf8')
  const [, yaml = ''] = /```yaml\n(.*?)```/s.exec(page) ?? []
  t.match(yaml, /metrics_path: \/api\/accesses\/acc_\w+\/metrics/)
  const dir = ownDir(t)
  writeFileSync(join(dir, 'slotline.key'), 'slk_')
  const file = join(dir, 'prometheus.yaml')
  writeFileSync(file, yaml.replace('/etc/prometheus/slotline.key', join(dir, 'slotline.key')))
  const { error, status, stderr, stdout } = promtool(['check', 'config', file])
  if (error !== undefined)
    return skipAbsent(t, 'no promtool in PATH: install it with `apt-get install prometheus`')
  t.equal(status, 0, `${stdout}${stderr}`)
})
