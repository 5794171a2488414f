import t from 'tap'
import { toLabel } from '../../../../src/dashboard/api/overview/overview.js'
import { openAuditLog } from '../../../../src/access/audit/audit-log.js'
import { defaults as auditDefaults } from '../../../../src/access/audit/options.js'
import { DashboardClient } from '../../../fixtures/dashboard/dashboard-client.js'
import { ADA, startDashboard } from '../../../fixtures/dashboard/dashboard.js'
import { ownDir } from '../../../fixtures/own-dir.js'
import { UsageWriter } from '../../../../src/usage/store.js'
import { openUsage } from '../../../fixtures/usage/usage.js'

const NONE = { requests: 0, errors: 0, rateLimited: 0, refused: 0 }

t.test('the overview has all scopes of the own accesses, with tails and traffic', async t => {
  const dataDir = ownDir(t)
  const { url, grant, accessService, clock } = await startDashboard(t, { dataDir })
  const ada = new DashboardClient(url)
  await ada.signIn(ADA)
  const undone = { token: false, call: false, restrict: false, webhook: false, land: false }
  const nothing = { scopes: [], locations: [], steps: undone }
  t.strictSame((await ada.ask('/api/overview')).json, nothing)
  const first = await grant('ada')
  const second = await grant('ada', { locations: ['nyc'] })
  const foreign = await grant('ben')
  const scope = { accessId: first.accessId, network: 'main', location: 'fra' }
  const { tail, token } = await accessService.generate(scope)
  const meter = openUsage(dataDir).meterOf(scope)
  meter.addRequests(5, clock.nowMs - 2 * 3_600_000)
  meter.addRequests(7, clock.nowMs)

  const { json, text, status } = await ada.ask('/api/overview')
  t.equal(status, 200)
  const { scopes, locations } = Object(json)
  t.equal(scopes.length, 3)
  const here = scopes.find(({ tail: of }: { tail: unknown }) => of !== null)
  t.match(here, { ...scope, tail, hour: { requests: 7 }, day: { requests: 12 } })
  t.match(
    scopes.find(({ accessId }: { accessId: string }) => accessId === second.accessId),
    { location: 'nyc', tail: null, hour: NONE, day: NONE },
  )
  t.strictSame(
    locations.map(({ id, state, slots }: { id: string; state: string; slots: unknown }) => ({
      id,
      state,
      slots,
    })),
    ['fra', 'nyc'].map(id => ({
      id,
      state: 'behind',
      slots: [{ network: 'main', slot: 7, lag: null }],
    })),
  )
  t.strictSame(Object(json).steps, { ...undone, token: true, call: true })
  await accessService.restrict(scope, '8.8.8.8')
  const of = [first.accessId, 'main', 'fra', '/send', '', 0, 0, 0] as const
  await new UsageWriter(dataDir).addEnds([['id', ...of, 'landed', '{}', '{}']])
  t.match((await ada.ask('/api/overview')).json, {
    steps: { restrict: true, webhook: false, land: true },
  })
  t.notMatch(text, foreign.accessId)
  t.notMatch(text, token.reveal())
})

t.test('a person names an access in any script', async t => {
  const dataDir = ownDir(t)
  const { url, grant } = await startDashboard(t, { dataDir })
  const ada = new DashboardClient(url)
  await ada.signIn(ADA)
  const { accessId } = await grant('ada', { label: 'of the operator' })
  const path = `/api/accesses/${accessId}/label`
  const labelOf = async (): Promise<string> =>
    Object((await ada.ask('/api/accesses')).json).accesses[0].label
  t.equal(await labelOf(), '', 'not the one of the operator')
  const labels = [
    'Bot 1',
    'Zürich',
    '東京 本番',
    'الإنتاج',
    'בוט',
    '👩‍🚀 testing',
    'می‌خواهم',
    '<b>x</b>',
    'x'.repeat(100),
  ]
  for (const label of labels) {
    t.equal((await ada.call('PUT', path, { label })).status, 204, label)
    t.equal(await labelOf(), label)
  }
  await ada.call('PUT', path, { label: '  Zu\u0308rich ' })
  t.equal(await labelOf(), 'Zürich', 'one form of its characters, trimmed')
  const wrong = [
    'x'.repeat(101),
    'a\nb',
    'a\u0000',
    '\u202egnp',
    'a\u2066b',
    '\ud83d',
    'a\u2028b',
    '\u200e',
    '\u061c',
    '\ufeff',
    '\u007f',
  ]
  for (const label of wrong) {
    const { status, json } = await ada.call('PUT', path, { label })
    // By its code units: a line separator would end the line of the report.
    t.equal(status, 400, Array.from(label, unit => unit.charCodeAt(0).toString(16)).join(' '))
    t.match(json, { error: { code: 'wrongInput', message: /^body\.label must/ } })
  }
  t.equal(await labelOf(), 'Zürich', 'nothing was changed')
  t.equal((await ada.call('PUT', path, { label: ' ' })).status, 204)
  t.equal(await labelOf(), '')
  const other = await grant('ben')
  const foreign = `/api/accesses/${other.accessId}/label`
  t.equal((await ada.call('PUT', foreign, { label: 'mine' })).status, 404)
  const log = openAuditLog(dataDir, auditDefaults, Date.now)
  t.match(await log.read({ beforeMs: Infinity, limit: 1 }), [
    { action: 'relabel', by: 'ada', accessId, request: { label: ' ' } },
  ])
})

t.test('a label keeps joiners, which scripts and emoji need', t => {
  for (const label of ['👨‍👩‍👧‍👦', 'क्‍ष', '🏴󠁧󠁢󠁥󠁮󠁧󠁿', '🇩🇪']) t.equal(toLabel(label), label.normalize('NFC'))
  t.end()
})
