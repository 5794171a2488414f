import t from 'tap'
import { openAuditLog } from '../../../../src/access/audit/audit-log.js'
import { defaults as auditDefaults } from '../../../../src/access/audit/options.js'
import type { FailedRequest } from '../../../../src/dashboard/api/usage.js'
import { createViewAudit } from '../../../../src/dashboard/api/operator/view-audit.js'
import { defaults as events } from '../../../../src/dashboard/events/options.js'
import { defaults } from '../../../../src/dashboard/webhooks/options.js'
import {
  ADA,
  BEN,
  NO_ACCESS_USAGE,
  NO_PLACE_USAGE,
  SUBMISSION_VIEW,
} from '../../../fixtures/dashboard/dashboard.js'
import { DashboardClient } from '../../../fixtures/dashboard/dashboard-client.js'
import { answersOf, openStream, watchOf } from '../../../fixtures/dashboard/event-page.js'
import { setUpMembers } from '../../../fixtures/dashboard/members.js'
import { ownDir } from '../../../fixtures/own-dir.js'
import { until } from '../../../fixtures/until.js'
import { HOUR_MS } from '../../../../src/usage/scope.js'

const PARAMS = '["canary-parameter"]'
const FAILED: FailedRequest = {
  ...{ atMs: 1, network: 'main', location: 'fra', method: 'getSlot', code: -32_602, text: 'wrong' },
  ...{ origin: 'service', address: '8.8.8.8', request: 'req-1', bytes: 300, elapsedMs: 1 },
  ...{ slot: 7, params: PARAMS },
}
const GROUP = { method: 'getSlot', code: 1, address: '8.8.8.8', origin: 'limit' } as const
const usage = {
  ...NO_PLACE_USAGE,
  ofScope: () => ({
    minutes: [{ startMs: 0, requests: 7, errors: 1, rateLimited: 2, refused: 3 }],
    refused: [{ atMs: 1, address: '8.8.8.8', reason: 'restricted' }],
    clients: [{ address: '8.8.4.4', lastSeenMs: 1 }],
    replaced: [{ tail: 'abcd', address: '8.8.8.8', lastSeenMs: 1, today: 2 }],
    missing: ['fra-2'],
  }),
  failures: () => ({ failures: [FAILED], groups: [{ ...GROUP, count: 7, lastMs: 1 }], leftOut: 2 }),
  ofAccess: () => ({ ...NO_ACCESS_USAGE, requestsLastSecond: 5 }),
}
const MACHINE = {
  ...{ id: 'fra-1', location: 'fra', slots: [{ network: 'main', slot: 7, lag: 0 }] },
  ...{ leaseMs: 900, revision: 4, version: '0.1.0', state: 'ok' },
}

/** What operators see of an access: each route of the holder that is to be seen is named here. */
const SCOPE = 'networks/main/locations/fra'
const ENDS = [
  ...[`${SCOPE}/usage`, 'failures', 'incidents', 'locations', 'machines', 'submissions'],
  ...[
    'submissions/summary?span=3600000&step=60000',
    'usage',
    'usage/range?span=3600000&step=60000',
    'warnings',
  ],
]
const ofHolder = (accessId: string) => (end: string) => `/api/accesses/${accessId}/${end}`
const ofOperator = (accessId: string) => (end: string) =>
  `/api/operator/accesses/${accessId}/${end}`

const INCIDENT = {
  ...{ id: '1', location: 'fra', machine: null, reasons: ['behind' as const], detail: '' },
  ...{ startedAtMs: 1, endedAtMs: null },
}
const EVE = { subject: 'eve', email: 'eve@test.example', name: 'Eve', password: 'four' }

const dataDir = ownDir(t)
const set = await setUpMembers(t, {
  dataDir,
  people: [ADA, BEN, EVE],
  usage,
  submissions: () => ({ submissions: [SUBMISSION_VIEW], next: null, missing: ['fra-2'] }),
  incidents: () => [INCIDENT],
  machines: () => [MACHINE],
  dashboard: {
    operators: ['ben'],
    sessionIdleMs: 2 * HOUR_MS,
    events: { ...events, checkMs: 20 },
    webhooks: { ...defaults, allowLoopback: true },
  },
})
const [holder, operator] = [ofHolder(set.accessId), ofOperator(set.accessId)]

t.test('an operator sees what the holder sees, and nobody else does', async t => {
  const { dashboard, ada, ben, open, add, accessId, path } = set
  const eve = await open(EVE)
  const nobody = new DashboardClient(dashboard.url)
  t.equal((await add('eve@test.example', 'manage')).status, 201)
  const validUntilMs = dashboard.clock.nowMs + HOUR_MS
  const scopes = ['usage:read', 'submissions:read']
  const key = await ada.call('POST', `${path}/keys`, { label: 'bot', scopes, validUntilMs })
  const headers = { authorization: `Bearer ${String(Object(key.json).secret)}` }
  for (const end of ['', ...ENDS.map(one => `/${one}`)]) {
    const at = `/api/operator/accesses/${accessId}${end}`
    const seen = await ben.ask(at)
    t.equal(seen.status, 200, at)
    for (const [who, client] of Object.entries({ holder: ada, member: eve }))
      t.match(
        await client.ask(at),
        { status: 403, json: { error: { code: 'notOperator' } } },
        `${at}, the ${who}`,
      )
    t.match(await nobody.ask(at), { status: 401, json: { error: { code: 'signedOut' } } }, at)
    t.match(
      await nobody.ask(at, { headers }),
      { status: 403, json: { error: { code: 'apiKeyRoute' } } },
      `${at}, a key of the access`,
    )
    t.match(
      await ben.ask(at.replace(accessId, 'acc_none')),
      { status: 404, json: { error: { code: 'noSuchAccess' } } },
      `${at}, no access`,
    )
  }
  for (const end of ENDS) {
    const [theirs, seen] = [await ada.ask(holder(end)), await ben.ask(operator(end))]
    const text = theirs.text.replaceAll(JSON.stringify(PARAMS), '""')
    t.strictSame(seen.json, JSON.parse(text), `${end}: the same numbers`)
    t.equal((await ben.ask(holder(end))).status, 404, `${end}: not by the holder's path`)
  }
  const { accesses } = Object((await ada.ask('/api/accesses')).json)
  t.strictSame((await ben.ask(`/api/operator/accesses/${accessId}`)).json, {
    access: { ...accesses[0], role: 'view' },
    ...{ subject: 'ada', label: '', hasMachines: true },
  })
  for (const end of ['failures?limit=0', 'usage/range?span=1', `${SCOPE}/usage/x`, 'failures?x=1'])
    t.match(await ben.ask(operator(end)), { status: end.includes('/x') ? 404 : 400 }, end)
  t.match(await ben.ask(operator('networks/other/locations/fra/usage')), {
    json: { error: { code: 'notOffered' } },
  })
})

t.test('only the routes named here are shown, and only to read', async t => {
  const { dashboard, ben } = set
  const { paths } = Object((await ben.ask('/api/openapi.json')).json)
  const PREFIX = '/api/operator/accesses/{accessId}/'
  const shown = Object.keys(paths).filter(one => one.startsWith(PREFIX))
  const named = ENDS.map(end => end.split('?')[0] ?? '').map(end =>
    end.replace(SCOPE, 'networks/{network}/locations/{location}'),
  )
  t.strictSame(shown.map(one => one.slice(PREFIX.length)).toSorted(), named.toSorted())
  for (const one of shown) t.strictSame(Object.keys(paths[one]), ['get'], one)
  for (const end of [
    ...['keys', 'members', 'alerts', 'webhooks', 'metrics', 'failures/export', SCOPE],
    ...['submissions/export?format=csv', `${SCOPE}/clients`, `${SCOPE}/token/reveal`],
  ])
    t.equal((await ben.ask(operator(end))).status, 404, end)
  for (const [method, end] of [
    ['POST', `${SCOPE}/token`],
    ['POST', `${SCOPE}/token/reveal`],
    ['DELETE', `${SCOPE}/token`],
    ['PUT', 'failures/parameters'],
  ] as const)
    t.equal((await ben.call(method, operator(end), {})).status, 404, `${method} ${end}`)
  t.equal((await ben.call('PUT', operator('failures'), {})).status, 405)
  for (const id of ['a'.repeat(8_192), '%61cc_1', '..%2f..%2fapi', '%00', 'acc%20x', '__proto__'])
    for (const end of ['', '/usage', '/failures'])
      t.equal((await ben.ask(`/api/operator/accesses/${id}${end}`)).status, 404, `${id}${end}`)
  t.notMatch(dashboard.lines.join(''), /"level":"error"/)
})

t.test('no secret of an access is in what an operator is answered', async t => {
  const { dashboard, ada, ben, token, path } = set
  const validUntilMs = dashboard.clock.nowMs + HOUR_MS
  const wanted = { label: 'bot', scopes: ['usage:read'], validUntilMs }
  const key = await ada.call('POST', `${path}/keys`, wanted)
  const url = 'http://127.0.0.1:1/canary-path?key=canary-query'
  const hook = await ada.call('POST', `${path}/webhooks`, { url })
  const secrets = [
    ...[token.reveal(), Object(key.json).secret, Object(hook.json).secret].map(String),
    ...['canary-', PARAMS, 'whsec_', 'slk_'],
  ]
  for (const secret of secrets) t.ok(secret.length > 3 && secret !== 'undefined')
  t.match((await ada.ask(holder('failures'))).text, 'canary-parameter', 'the holder has them')
  for (const end of ['', ...ENDS.map(one => `/${one}`)]) {
    const { status, text } = await ben.ask(`/api/operator/accesses/${set.accessId}${end}`)
    t.equal(status, 200, end)
    for (const secret of secrets) t.notOk(text.includes(secret), `${end}: ${secret}`)
  }
})

t.test('an operator who looks at an access is in the audit log, once in an hour', async t => {
  const { dashboard, ben, ada } = set
  const { accessId } = await dashboard.grant('ada')
  const { nowMs } = dashboard.clock
  const audit = openAuditLog(dataDir, auditDefaults, () => nowMs)
  const views = async () => {
    const found = await audit.read({ accessId, beforeMs: nowMs + 9 * HOUR_MS, limit: 99 })
    return found.filter(({ action }) => action === 'view-access')
  }
  const paths = [...ENDS.map(ofOperator(accessId)), ofHolder(accessId)('usage')]
  const { page, stop } = await openStream(t, dashboard, ben, watchOf(paths))
  await until('the stream has sent one', () => answersOf(page).length > 0)
  stop()
  const sent = [...ENDS.keys()]
  t.ok(page.text().includes(`event: watching\ndata: ${JSON.stringify(sent)}\n`), page.text())
  t.match(await views(), [{ by: 'ben', from: '127.0.0.1', accessId }], 'also one who only watches')
  const other = await openStream(t, dashboard, ada, watchOf(paths))
  await until('it says what it sends', () => other.page.text().includes('event: watching'))
  other.stop()
  t.ok(other.page.text().includes(`watching\ndata: [${ENDS.length}]\n`), 'only what is theirs')
  for (const path of paths) await Promise.all([ben.ask(path), ada.ask(path)])
  await ben.ask('/api/operator/accesses/acc_none')
  t.equal((await views()).length, 1)
  dashboard.clock.nowMs += HOUR_MS
  t.equal((await ben.ask(ofOperator(accessId)('usage'))).status, 200)
  t.equal((await views()).length, 2)
})

t.test('what is remembered of such looks has a bound', t => {
  let nowMs = HOUR_MS
  const entries: string[] = []
  const note = createViewAudit(
    ({ by, accessId }) => entries.push(`${by} ${accessId}`),
    () => nowMs,
  )
  for (let nth = 0; nth < 1_001; nth++) note('ben', `acc_${nth}`, '')
  note('ben', 'acc_1000', '')
  note('ben', 'acc_1', '')
  t.equal(entries.length, 1_001)
  note('ben', 'acc_0', '')
  t.equal(entries.length, 1_002, 'one that is forgotten is recorded once more')
  nowMs = 0
  note('ben', 'acc_0', '')
  t.equal(entries.length, 1_003, 'the clock was set back')
  t.end()
})
