import { readFileSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openAuditLog } from '../../../src/access/audit/audit-log.js'
import { defaults } from '../../../src/access/audit/options.js'
import { RpcError } from '../../../src/shared/errors.js'
import { ADA, startDashboard } from '../../fixtures/dashboard/dashboard.js'
import { DashboardClient } from '../../fixtures/dashboard/dashboard-client.js'
import { ownDir } from '../../fixtures/own-dir.js'

t.test('what a person does is recorded when it succeeds, without a secret', async t => {
  const dataDir = ownDir(t)
  const dashboard = await startDashboard(t, { dataDir })
  const ada = new DashboardClient(dashboard.url)
  t.equal(await ada.signIn(ADA), '/')
  const { accessId } = await dashboard.grant('ada')
  const token = `/api/accesses/${accessId}/networks/main/locations/fra/token`
  t.equal((await ada.call('POST', token)).status, 201)
  t.equal((await ada.call('POST', token)).status, 409, 'it has one')
  const { json } = await ada.call('POST', `${token}/reveal`)
  t.equal((await ada.call('POST', '/api/sign-out')).status, 200)
  t.equal((await ada.call('POST', `${token}/reveal`)).status, 401)

  const dir = join(dataDir, 'audit')
  const text = readdirSync(dir)
    .map(name => readFileSync(join(dir, name), 'utf8'))
    .join('')
  t.notOk(text.includes((json as { token: string }).token))
  const read = async () => {
    const log = openAuditLog(dataDir, defaults, Date.now)
    const query = { beforeMs: Number.MAX_SAFE_INTEGER, limit: 100, by: ADA.subject }
    return (await log.read(query)).toReversed()
  }
  const scope = { accessId, network: 'main', location: 'fra' }
  t.match(await read(), [
    { action: 'sign-in', by: ADA.subject, from: '127.0.0.1' },
    { action: 'generate', by: ADA.subject, ...scope },
    { action: 'reveal', by: ADA.subject, ...scope },
    { action: 'sign-out', by: ADA.subject },
  ])
  t.equal((await read()).length, 4)

  rmSync(dir, { recursive: true })
  t.equal(await ada.signIn(ADA), '/', 'it works where nothing can be recorded')
  t.match(dashboard.lines.join(''), 'an entry of the audit log was not stored')
})

t.test('a change that failed although it is stored, or may be, is recorded with that', async t => {
  const dataDir = ownDir(t)
  let failure: RpcError | undefined
  const fail = <T>(value: T): T => {
    if (failure !== undefined) throw failure
    return value
  }
  const dashboard = await startDashboard(t, {
    dataDir,
    accessService: own => ({
      ...own,
      revoke: async scope => fail(await own.revoke(scope)),
      restrict: async (scope, address) => fail(await own.restrict(scope, address)),
    }),
  })
  const ada = new DashboardClient(dashboard.url)
  t.equal(await ada.signIn(ADA), '/')
  const { accessId } = await dashboard.grant('ada')
  const token = `/api/accesses/${accessId}/networks/main/locations/fra/token`
  t.equal((await ada.call('POST', token)).status, 201)
  const change = { address: '8.8.8.8' }
  failure = new RpcError('changeUnknown')
  t.equal((await ada.call('PUT', `${token}/restriction`, change)).status, 503)
  failure = new RpcError('accessBusy')
  t.equal((await ada.call('PUT', `${token}/restriction`, change)).status, 409)
  failure = new RpcError('notConfirmed')
  t.equal((await ada.call('DELETE', token)).status, 503)
  const scope = { by: ADA.subject, accessId, network: 'main', location: 'fra' }
  const log = openAuditLog(dataDir, defaults, Date.now)
  const found = await log.read({ beforeMs: Number.MAX_SAFE_INTEGER, limit: 100, accessId })
  const entries = found.map(({ atMs: _, from: _from, ...entry }) => entry).toReversed()
  t.strictSame(entries, [
    { action: 'generate', ...scope },
    { action: 'restrict', ...scope, request: change, outcome: 'changeUnknown' },
    { action: 'revoke', ...scope, outcome: 'notConfirmed' },
  ])
})
