import { readFileSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openAuditLog } from '../../../src/access/audit/audit-log.js'
import { defaults } from '../../../src/access/audit/options.js'
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
  t.equal((await ada.call('POST', '/api/sign-out')).status, 204)
  t.equal((await ada.call('POST', `${token}/reveal`)).status, 401)

  const dir = join(dataDir, 'audit')
  const text = readdirSync(dir)
    .map(name => readFileSync(join(dir, name), 'utf8'))
    .join('')
  t.notOk(text.includes((json as { token: string }).token))
  const read = () =>
    openAuditLog(dataDir, defaults, Date.now)
      .read({ beforeMs: Number.MAX_SAFE_INTEGER, limit: 100, by: ADA.subject })
      .toReversed()
  const scope = { accessId, network: 'main', location: 'fra' }
  t.match(read(), [
    { action: 'sign-in', by: ADA.subject, from: '127.0.0.1' },
    { action: 'generate', by: ADA.subject, ...scope },
    { action: 'reveal', by: ADA.subject, ...scope },
    { action: 'sign-out', by: ADA.subject },
  ])
  t.equal(read().length, 4)

  rmSync(dir, { recursive: true })
  t.equal(await ada.signIn(ADA), '/', 'it works where nothing can be recorded')
  t.match(dashboard.lines.join(''), 'an entry of the audit log was not stored')
})
