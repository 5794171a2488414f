import * as v from 'valibot'
import t from 'tap'
import { Pool } from 'undici'
import type { IncidentView } from '../../../src/dashboard/api/incidents/incident-shapes.js'
import type { MachineView } from '../../../src/dashboard/api/shapes.js'
import { createStatusRoutes } from '../../../src/dashboard/status/routes.js'
import { status } from '../../../src/dashboard/status/shapes.js'
import { createReadStatus } from '../../../src/dashboard/status/status.js'
import { ADA, startDashboard } from '../../fixtures/dashboard/dashboard.js'
import { DashboardClient } from '../../fixtures/dashboard/dashboard-client.js'
import { isSoak } from '../../fixtures/soak.js'

const NOW_MS = Date.now()
const DAY_MS = 86_400_000
const MACHINE_CANARY = 'machine-canary'

const incident = (more: Partial<IncidentView>): IncidentView => ({
  id: 'incident-canary',
  location: 'fra',
  machine: null,
  reasons: ['behind'],
  detail: '',
  startedAtMs: NOW_MS - 9 * DAY_MS,
  endedAtMs: NOW_MS - 8.1 * DAY_MS,
  ...more,
})

t.test('without the option there is no such page', async t => {
  const { url } = await startDashboard(t)
  const client = new DashboardClient(url)
  for (const path of ['/status', '/status.json'])
    t.match(await client.ask(path), { status: 404, json: { error: { code: 'notFound' } } })
})

t.test('everyone may read states, uptime and incidents, and nothing else', async t => {
  const incidents = [
    incident({ startedAtMs: NOW_MS - 60_000, endedAtMs: null, reasons: ['unreachable'] }),
    incident({
      reasons: ['process-restarted'],
      detail: `edge 0: ${MACHINE_CANARY}`,
      endedAtMs: NOW_MS - 9 * DAY_MS,
    }),
    incident({}),
    incident({
      location: 'nyc',
      startedAtMs: NOW_MS - 99 * DAY_MS,
      endedAtMs: NOW_MS - 98 * DAY_MS,
    }),
  ]
  const dashboard = await startDashboard(t, {
    incidents: () => incidents,
    dashboard: { statusPage: true },
  })
  dashboard.clock.nowMs = NOW_MS
  const { accessId } = await dashboard.grant('ada')
  const client = new DashboardClient(dashboard.url)
  const json = await client.ask('/status.json')
  t.equal(json.status, 200)
  t.match(json.headers.get('cache-control'), 'public, max-age=5')
  const found = v.parse(status, json.json)
  t.match(found, {
    atMs: NOW_MS,
    sinceMs: NOW_MS - 90 * DAY_MS,
    locations: [
      { id: 'fra', name: 'Frankfurt', state: 'degraded', uptimePercent: 98.999 },
      { id: 'nyc', state: 'degraded', uptimePercent: 100 },
    ],
    incidents: [
      { location: 'fra', state: 'down', endedAtMs: null },
      { location: 'fra', state: 'degraded', endedAtMs: NOW_MS - 8.1 * DAY_MS },
    ],
  })
  t.equal(found.incidents.length, 2)
  const page = await client.ask('/status', { headers: { accept: 'text/html' } })
  t.equal(page.status, 200)
  t.match(page.headers.get('content-type'), /^text\/html/)
  t.match(page.text, /<h1>Some locations are degraded<\/h1>/)
  t.match(page.text, /98\.999 %/)
  t.notMatch(page.text, /<script|<style|style=|\son\w+=/)
  for (const { text } of [json, page])
    for (const canary of [MACHINE_CANARY, 'incident-canary', accessId, 'ada'])
      t.notOk(text.includes(canary), canary)
})

t.test('of a cluster: the best machine of each location, and coarse lags', async t => {
  const machine = (id: string, location: string, state: string): MachineView =>
    ({
      id,
      location,
      state,
      slots: [],
      leaseMs: 0,
      revision: 0,
      version: '',
    }) as unknown as MachineView
  const lags = new Map([
    ['fra', 3],
    ['nyc', 2_000],
  ])
  const read = createReadStatus({
    catalog: { location: () => undefined, networkName: id => `<${id}>` },
    locationIds: ['fra', 'nyc'],
    locationStates: ids =>
      ids.map(id => ({
        id,
        url: null,
        state: id === 'fra' ? 'ok' : 'broken',
        slots: [{ network: 'main', slot: 9, lag: lags.get(id) ?? 0 }],
      })),
    machines: () => [
      machine('a', 'fra', 'ok'),
      machine('b', 'fra', 'unreachable'),
      machine('c', 'nyc', 'broken'),
      machine('d', 'nyc', 'not-started'),
    ],
    incidents: () => [
      incident({ machine: 'b', startedAtMs: NOW_MS - DAY_MS, endedAtMs: null }),
      incident({ machine: 'c', location: 'nyc', startedAtMs: NOW_MS - DAY_MS, endedAtMs: null }),
    ],
    incidentsMax: 2,
    incidentDaysMax: 90,
    now: () => NOW_MS,
  })
  t.match(read(), {
    sinceMs: NOW_MS - DAY_MS,
    locations: [
      { state: 'operational', uptimePercent: 100, networks: [{ slotsBehindMax: 10 }] },
      { state: 'down', uptimePercent: 0, networks: [{ slotsBehindMax: null }] },
    ],
    incidents: [{ location: 'nyc' }],
  })
  const [page] = createStatusRoutes(read, { statusPage: true })
  const { text } = await Promise.resolve(page?.run({} as never)).then(answer => Object(answer))
  t.match(text, '&lt;main&gt;: up to 10 slots behind', 'names are text')
})

t.test('what was read is kept for five seconds', async t => {
  let reads = 0
  let atMs = 0
  const read = () => {
    reads++
    return { atMs, sinceMs: 0, locations: [], incidents: [] }
  }
  const routes = createStatusRoutes(read, { statusPage: true }, () => atMs)
  for (const [time, expected] of [
    [0, 1],
    [4_999, 1],
    [5_000, 2],
  ] as const) {
    atMs = time
    for (const one of routes) await one.run({} as never)
    t.equal(reads, expected, `after ${time} ms`)
  }
  t.strictSame(createStatusRoutes(read, { statusPage: false }), [])
})

/** A soak sends all of them; the rate is the same. */
const FLOOD = isSoak ? 10_000 : 400
const CONNECTIONS = 16
/** What the status may cost more than a path that does not exist. */
const COST_FACTOR_MAX = 1.5

t.test(`${FLOOD} requests for the status cost as much as for what does not exist`, async t => {
  let reads = 0
  const dashboard = await startDashboard(t, {
    dashboard: { statusPage: true },
    incidents: () => {
      reads++
      return []
    },
  })
  const ada = new DashboardClient(dashboard.url)
  await ada.signIn(ADA)
  const pool = new Pool(dashboard.url, { connections: CONNECTIONS })
  t.teardown(() => pool.close())

  /** Floods paths while another client asks; processor time of all, in microseconds. */
  const flood = async (paths: readonly string[], status: number): Promise<number> => {
    const before = process.cpuUsage()
    let left = FLOOD
    let isDone = false
    const send = async (): Promise<void> => {
      while (left-- > 0) {
        const path = paths[left % paths.length] ?? '/'
        const { statusCode, body } = await pool.request({ method: 'GET', path })
        await body.dump()
        if (statusCode !== status) t.fail(`${path} was answered ${statusCode}`)
      }
    }
    const sending = Promise.all(Array.from({ length: CONNECTIONS }, send)).finally(() => {
      isDone = true
    })
    let asked = 0
    for (; !isDone; asked++)
      if ((await ada.ask('/api/address')).status !== 200) t.fail('another client is refused')
    await sending
    t.ok(asked > FLOOD / 100, `${asked} requests of another client were answered meanwhile`)
    const { user, system } = process.cpuUsage(before)
    return user + system
  }

  const fromMs = performance.now()
  await flood(['/nothing'], 404)
  // In turn: the least of each is compared, which other load of the machine does not make shorter.
  const plain: number[] = []
  const shown: number[] = []
  for (let round = 0; round < 3; round++) {
    plain.push(await flood(['/nothing', '/nothing.json'], 404))
    shown.push(await flood(['/status', '/status.json'], 200))
  }
  const [lowest, cost] = [Math.min(...plain), Math.min(...shown)]
  const tookMs = performance.now() - fromMs
  t.comment(`${cost / FLOOD} µs a request, ${lowest / FLOOD} µs of another path, with the client`)
  t.ok(reads <= 1 + tookMs / 5_000, `${reads} reads in ${Math.round(tookMs)} ms`)
  t.ok(cost <= COST_FACTOR_MAX * lowest, `${cost} µs in place of ${lowest} µs`)
})
