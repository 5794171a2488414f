import t from 'tap'
import type { FailedRequest } from '../../../src/dashboard/api/usage.js'
import { DashboardClient } from '../../fixtures/dashboard/dashboard-client.js'
import {
  ADA,
  BEN,
  NO_ACCESS_USAGE,
  NO_PLACE_USAGE,
  startDashboard,
} from '../../fixtures/dashboard/dashboard.js'
import { ownDir } from '../../fixtures/own-dir.js'
import { openAuditLog } from '../../../src/access/audit/audit-log.js'
import { defaults } from '../../../src/access/audit/options.js'

const FAILED: FailedRequest = {
  atMs: Date.UTC(2030, 0, 1),
  network: 'main',
  location: 'fra',
  method: 'getSlot',
  code: -32_602,
  text: '=1+1, "quoted"',
  origin: 'service',
  address: '8.8.8.8',
  request: 'req-1',
  bytes: 300,
  elapsedMs: 1.5,
  slot: null,
  params: '[1]',
}
const GROUP = { ...{ method: 'getSlot', code: 1, address: '' }, origin: 'limit' } as const

const setUp = async (dataDir?: string) => {
  const asked: unknown[] = []
  const dashboard = await startDashboard(t, {
    ...(dataDir !== undefined && { dataDir }),
    usage: {
      ...NO_PLACE_USAGE,
      failures: (accessId, query, locations) => {
        asked.push([accessId, query, locations])
        const groups = [{ ...GROUP, count: 7, lastMs: 1 }]
        return { failures: [FAILED], groups, leftOut: 2, missing: ['fra-2'] }
      },
      ofAccess: () => NO_ACCESS_USAGE,
    },
  })
  const [ada, ben] = [new DashboardClient(dashboard.url), new DashboardClient(dashboard.url)]
  await ada.signIn(ADA)
  await ben.signIn(BEN)
  const { accessId } = await dashboard.grant('ada')
  return { ...dashboard, ada, ben, asked, accessId, path: `/api/accesses/${accessId}/failures` }
}

t.test('failed requests are those of the own access, within the filters', async t => {
  const { ada, ben, asked, accessId, path } = await setUp()
  const any = { ...{ method: '', code: '', location: '', address: '', origin: '' }, fromMs: 0 }
  t.match((await ada.ask(path)).json, {
    failures: [FAILED],
    groups: [{ count: 7 }],
    leftOut: 2,
    missing: ['fra-2'],
    paramsUntilMs: null,
  })
  await ada.ask(`${path}?limit=9&code=-32602&origin=limit&address=8.8.8.8&from=1&until=2`)
  const other = { limit: 9, code: '-32602', origin: 'limit', address: '8.8.8.8' }
  t.match(asked, [
    [accessId, { ...any, limit: 100 }, ['fra', 'nyc']],
    [accessId, { ...any, ...other, fromMs: 1, untilMs: 2 }],
  ])
  for (const query of [
    ...['limit=0', 'limit=1001', 'code=x', 'code=1e9', 'origin=us', 'from=-1', 'from=1.5'],
    ...[`method=${'x'.repeat(40)}`, `address=${'1'.repeat(46)}`, 'other=1', 'limit=1&limit=2'],
  ])
    t.match(await ada.ask(`${path}?${query}`), { status: 400 }, query)
  asked.length = 0
  t.equal((await ben.ask(path)).status, 404)
  t.equal((await ben.ask(`${path}/export?format=csv`)).status, 404)
  t.strictSame(asked, [])
})

t.test('a file has a line for each, which no spreadsheet calculates', async t => {
  const { ada, path } = await setUp()
  const csv = await ada.ask(`${path}/export?format=csv`)
  t.equal(csv.headers.get('x-missing'), 'fra-2')
  t.match(csv.headers.get('content-disposition'), /^attachment; filename="failures-acc_\w+\.csv"$/)
  const line = `2030-01-01T00:00:00.000Z,main,fra,getSlot,-32602,"'=1+1, ""quoted""",service,8.8.8.8`
  t.equal(csv.text.split('\r\n')[1], `${line},req-1,300,1.5,,[1]`)
  t.strictSame((await ada.ask(`${path}/export?format=json`)).json, { failures: [FAILED] })
  t.equal((await ada.ask(`${path}/export`)).status, 400)
})

t.test('a holder has parameters kept for a day, or no longer', async t => {
  const dataDir = ownDir(t)
  const { ada, ben, accessId, accessService, clock, path } = await setUp(dataDir)
  const choose = (isOn: unknown, person = ada) => person.call('PUT', `${path}/parameters`, { isOn })
  const untilMs = clock.nowMs + 86_400_000
  t.match(await choose(true), { status: 200, json: { paramsUntilMs: untilMs } })
  t.match((await ada.ask(path)).json, { paramsUntilMs: untilMs })
  t.equal((await choose(false, ben)).status, 404, 'of someone else')
  t.equal((await ada.ask(`${path}/parameters`, { method: 'PUT' })).status, 403, 'another site')
  t.equal((await choose('yes')).status, 400)
  t.equal(accessService.find(accessId)?.paramsUntilMs, untilMs, 'nothing was changed')
  await accessService.keepParams(accessId, clock.nowMs)
  t.match((await ada.ask(path)).json, { paramsUntilMs: null }, 'the day is over')
  t.match(await choose(false), { status: 200, json: { paramsUntilMs: null } })
  t.equal(accessService.find(accessId)?.paramsUntilMs, undefined)
  const log = openAuditLog(dataDir, defaults, Date.now)
  t.match(
    (await log.read({ beforeMs: Infinity, limit: 9 }))
      .filter(({ action }) => action === 'keep-parameters')
      .map(({ by, request }) => [by, request]),
    [
      ['ada', { isOn: false }],
      ['ada', { isOn: true }],
    ],
  )
})
