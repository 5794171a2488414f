import { mkdirSync } from 'node:fs'
import t from 'tap'
import type { IncidentView } from '../../../../src/dashboard/api/incidents/incident-shapes.js'
import { createOperatorRoutes } from '../../../../src/dashboard/api/operator/operator.js'
import { writeStatus } from '../../../../src/storage/status-file.js'
import { senderPath } from '../../../../src/submission/store/store-reader.js'
import { DashboardClient } from '../../../fixtures/dashboard/dashboard-client.js'
import { ADA, BEN, startDashboard } from '../../../fixtures/dashboard/dashboard.js'
import { CYD, setUpMembers } from '../../../fixtures/dashboard/members.js'
import { HOUR_MS } from '../../../../src/usage/scope.js'
import { UsageWriter } from '../../../../src/usage/store.js'
import { ownDir } from '../../../fixtures/own-dir.js'
import { openUsage } from '../../../fixtures/usage/usage.js'

/** What routes with a time are asked here. */
const SPAN = '?span=3600000'
const PATHS = [
  ...['accesses', 'lanes', 'nodes', 'incidents', 'audit'],
  ...[`usage/range${SPAN}&step=60000`, `usage/accesses${SPAN}`],
].map(end => `/api/operator/${end}`)
const pathOf = (path: string): string => path.split('?')[0] ?? ''

t.test('only subjects of the configuration see the page of operators', async t => {
  const { url } = await startDashboard(t, { dashboard: { operators: ['ben', 'Ada'] } })
  const [ada, ben, nobody] = [0, 1, 2].map(() => new DashboardClient(url)) as [
    DashboardClient,
    DashboardClient,
    DashboardClient,
  ]
  await ada.signIn(ADA)
  await ben.signIn(BEN)
  t.match((await ada.ask('/api/session')).json, { isOperator: false })
  t.match((await ben.ask('/api/session')).json, { isOperator: true })
  for (const path of PATHS) {
    const refused = await ada.ask(path)
    t.equal(refused.status, 403, path)
    t.match(refused.json, { error: { code: 'notOperator' } })
    t.equal((await ben.ask(path)).status, 200, path)
    t.equal((await nobody.ask(path)).status, 401, path)
  }
  const routes = createOperatorRoutes({} as Parameters<typeof createOperatorRoutes>[0])
  for (const { method, path, needsOperator } of routes) {
    t.equal(method, 'GET', `${path} changes nothing`)
    t.ok(needsOperator, path)
  }
  t.strictSame(routes.map(({ path }) => path).toSorted(), PATHS.map(pathOf).toSorted())
})

t.test('accesses of all persons are paged and searched, without a token', async t => {
  const { url, grant, accessService } = await startDashboard(t, {
    dashboard: { operators: ['ben'] },
  })
  const ben = new DashboardClient(url)
  await ben.signIn(BEN)
  const ids: string[] = []
  for (let count = 0; count < 60; count++) ids.push((await grant(`person-${count}`)).accessId)
  const [accessId = ''] = ids
  await accessService.relabel(accessId, 'Zürich')
  const { token, tail } = await accessService.generate({
    accessId,
    network: 'main',
    location: 'fra',
  })
  const read = async (
    query: string,
  ): Promise<{ accesses: { accessId: string }[]; next: string | null }> =>
    Object((await ben.ask(`/api/operator/accesses?${query}`)).json)
  const first = await read('')
  t.equal(first.accesses.length, 50)
  const second = await read(`after=${first.next}`)
  t.equal(second.next, null)
  t.strictSame(
    [...first.accesses, ...second.accesses].map(one => one.accessId),
    ids.toSorted(),
  )
  for (const find of ['PERSON-0', accessId, 'z%C3%BCrich']) {
    const found = await read(`find=${find}`)
    t.match(found, {
      accesses: [{ accessId, subject: 'person-0', tokens: [{ tail }] }],
      next: null,
    })
    t.equal(found.accesses.length, 1, find)
    t.notMatch(JSON.stringify(found), token.reveal())
  }
  t.strictSame(await read('find=nobody'), { accesses: [], next: null })
})

t.test('accesses are found by the verified address of a holder or a member', async t => {
  const { ada, ben, open, add, accessId, dashboard } = await setUpMembers(t, {
    dashboard: { operators: ['ben'] },
  })
  const { accessId: unverified } = await dashboard.grant('cyd')
  const find = async (text: string): Promise<readonly unknown[]> => {
    const { json } = await ben.ask(`/api/operator/accesses?find=${encodeURIComponent(text)}`)
    return Object(json).accesses.map(({ accessId, email }: Record<string, unknown>) => ({
      accessId,
      email,
    }))
  }
  const own = { accessId, email: ADA.email }
  t.strictSame(await find('ADA@test.'), [own])
  t.strictSame(await find(BEN.email), [])
  t.equal((await add(BEN.email)).status, 201)
  t.strictSame(await find(BEN.email), [own], 'of a member')
  const cyd = await open(CYD)
  t.strictSame(await find(CYD.email), [], 'an address that its provider has not verified')
  t.strictSame(await find(unverified), [{ accessId: unverified, email: null }])
  t.equal((await cyd.ask('/api/operator/accesses?find=ada')).status, 403)
  t.match(await ben.ask(`/api/operator/accesses?find=${'@'.repeat(256)}`), { status: 400 })
  t.equal((await ada.call('POST', '/api/sign-out')).status, 200)
  t.strictSame(await find(ADA.email), [], 'of a session that has ended')
  t.strictSame(await find(BEN.email), [{ accessId, email: null }])
})

t.test('usage, nodes, incidents and the audit log', async t => {
  const dataDir = ownDir(t)
  const incidents: IncidentView[] = Array.from({ length: 60 }, (_, index) => ({
    id: String(100 - index),
    location: index === 0 ? null : 'fra',
    machine: null,
    reasons: ['behind'],
    detail: '',
    startedAtMs: index,
    endedAtMs: null,
  }))
  const { url, grant, clock } = await startDashboard(t, {
    dataDir,
    dashboard: { operators: ['ben'] },
    incidents: ({ before = '999', limit }) =>
      incidents.filter(({ id }) => Number(id) < Number(before)).slice(0, limit),
  })
  const ben = new DashboardClient(url)
  await ben.signIn(BEN)
  const counted = openUsage(dataDir)
  const ids: string[] = []
  for (const subject of ['ada', 'eve']) {
    const { accessId } = await grant(subject, { label: `of ${subject}` })
    ids.push(accessId)
    const place = { accessId, network: 'main', location: 'fra' }
    const meter = counted.meterOf(place)
    meter.addRequests(1 + ids.length, clock.nowMs)
    meter.addCall('getSlot', { elapsedMs: 1 }, clock.nowMs)
    meter.addCall('getSlot', { failure: { code: -32_602 } }, clock.nowMs)
  }
  counted
    .meterOf({ accessId: 'acc_gone', network: 'main', location: 'fra' })
    .addRequests(1, clock.nowMs)
  const usage = '/api/operator/usage'
  t.match((await ben.ask(`${usage}/range?span=3600000&step=60000`)).json, {
    periods: [{ requests: 6, errors: 2, rateLimited: 0, refused: 0 }],
    calls: [{ requests: 4, errors: 2, codes: [{ code: -32_602, count: 2 }] }],
    methods: [{ method: 'getSlot', requests: 4, p50Ms: Number }],
    submissions: { sent: 0, landed: 0, landingRate: null, tippedLamports: 0 },
  })
  const holder = { subject: 'eve', product: 'node', label: 'of eve', state: 'active' }
  t.match((await ben.ask(`${usage}/accesses?span=3600000`)).json, {
    accesses: [
      { accessId: ids[1], holder, requests: 3, errors: 1, submissions: { sent: 0 } },
      { accessId: ids[0], requests: 2 },
      { accessId: 'acc_gone', holder: null, requests: 1 },
    ],
    next: null,
  })
  const after = `after=2-${ids[0]}`
  t.match((await ben.ask(`${usage}/accesses?span=3600000&${after}`)).json, {
    accesses: [{ accessId: 'acc_gone' }],
  })
  const huge = 'from=0&until=999999999999999'
  t.match((await ben.ask(`${usage}/accesses?${huge}&by=errors`)).json, {
    accesses: [{ errors: 1 }, { errors: 1 }],
  })
  t.match((await ben.ask(`${usage}/range?${huge}&step=999999999960000`)).json, {
    periods: [{ requests: 6 }],
  })
  for (const [query, problem] of [
    ['range?span=3600000', 'is missing'],
    ['range?step=60000', 'must have from and until, or span'],
    [`range?${huge}&step=60000`, 'must be at most 1500 periods'],
    ['range?span=3600000&step=60001', 'must be a multiple of 60000'],
    ['range?span=3600000&step=60000&network=main', 'is unknown'],
    ['accesses', 'must have from and until, or span'],
    ['accesses?span=-1', 'must be milliseconds'],
    ['accesses?span=1&by=refused', 'must be one of requests, errors, rateLimited'],
    ['accesses?span=1&after=x', 'must be `next` of the page before'],
    ['accesses?span=1&limit=1000', 'is unknown'],
  ] as const) {
    const refused = await ben.ask(`${usage}/${query}`)
    t.equal(refused.status, 400, query)
    t.match(refused.json, { error: { code: 'wrongInput', message: new RegExp(problem) } }, query)
  }
  const hour = Math.floor(clock.nowMs / HOUR_MS)
  const scope = ['acc', 'main', 'fra', '/lander', 'lander'] as const
  await new UsageWriter(dataDir).addEnds([
    ['1', ...scope, hour * 60, 0, 0, 'landed', '{"1":1}', '{"30":1}'],
    ['2', ...scope, (hour - 100) * 60, 0, 0, 'expired', '{}', '{}'],
  ])
  const lane = { network: 'main', lane: 'fra', state: 'throttled', sinceMs: clock.nowMs } as const
  const last = { outcome: 'full', atMs: clock.nowMs } as const
  const figures = { perSecond: 1.5, perSecondMax: 50, inFlight: 2, last }
  const sender = senderPath(dataDir)
  mkdirSync(sender, { recursive: true })
  writeStatus(sender, { pid: 1, atMs: clock.nowMs - 6_000, lanes: [{ ...lane, ...figures }] })
  t.match((await ben.ask('/api/operator/lanes')).json, { states: [] }, 'written too long ago')
  writeStatus(sender, { pid: 1, atMs: clock.nowMs, lanes: [{ ...lane, ...figures }] })
  const day = await ben.ask('/api/operator/lanes')
  t.match(day.json, {
    states: [{ ...lane, ...figures }],
    fromMs: (hour - 23) * HOUR_MS,
    untilMs: (hour + 1) * HOUR_MS,
    lanes: [{ network: 'main', lane: 'lander', sent: 1, landed: 1, tips: [{ sent: 1 }] }],
  })
  t.notMatch(JSON.stringify(day.json), 'canary')
  t.match((await ben.ask('/api/operator/lanes?hours=168')).json, { lanes: [{ sent: 2 }] })
  for (const hours of ['1', '0', 'x', '24,168', '']) {
    const refused = await ben.ask(`/api/operator/lanes?hours=${hours}`)
    t.equal(refused.status, 400, hours)
    t.match(refused.json, { error: { code: 'wrongInput' } })
  }
  t.match((await ben.ask('/api/operator/nodes')).json, {
    locations: [{ id: 'fra', state: 'behind' }, { id: 'nyc' }],
    machines: null,
  })
  const { incidents: page, next } = Object((await ben.ask('/api/operator/incidents')).json)
  t.equal(page.length, 50)
  const rest = Object((await ben.ask(`/api/operator/incidents?before=${next}`)).json)
  t.equal(rest.incidents.length, 10)
  t.equal(rest.next, null)
  t.match((await ben.ask('/api/operator/audit?subject=ben')).json, {
    entries: [{ action: 'sign-in', by: 'ben' }],
  })
  t.strictSame(Object((await ben.ask('/api/operator/audit?subject=eve')).json).entries, [])
})
