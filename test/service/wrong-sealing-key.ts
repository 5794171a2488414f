import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { askAdmin } from '../fixtures/dashboard/admin.js'
import { callText } from '../fixtures/processes/deployment.js'
import { prepareServe } from '../fixtures/processes/serve.js'
import { until } from '../fixtures/until.js'

t.test('a service with a wrong sealing key reports it, and its tokens are valid', async t => {
  const feeds = { main: { endpoint: 'http://127.0.0.1:1' } }
  const prepared = await prepareServe(t, feeds, { processes: { edgeCount: 1 } })
  const { keyFile, accessId, dashboardUrl } = prepared
  writeFileSync(keyFile, `${'ab'.repeat(32)}\n`)
  const { output } = await prepared.start()
  await until('the service reports it', () =>
    /tokens cannot be generated or revealed/.test(output()),
  )
  t.match(output(), /is not the key of this store; restore the one with fingerprint [0-9a-f]{16}/)
  // The token is accepted; the index is empty.
  const answer = await callText(prepared.urlOf('main'), 'getLatestBlockhash', [])
  t.match(JSON.parse(answer), { error: { message: 'The index has no block yet' } })

  const adminToken = readFileSync(join(prepared.dataDir, 'admin.token'), 'utf8').trim()
  const description = { dashboardUrl, adminToken }
  const path = `/accesses/${accessId}/networks/main/locations/fra/token`
  for (const verb of ['/reveal', '/regenerate'])
    t.match(await askAdmin({ description }, 'POST', path + verb), {
      status: 503,
      body: { error: { code: 'sealingKey' } },
    })
  t.match(await askAdmin({ description }, 'DELETE', path), { status: 204 }, 'it can be revoked')
  const refused = await callText(prepared.urlOf('main'), 'getLatestBlockhash', [])
  t.match(JSON.parse(refused), { error: { message: 'Unauthorized' } })
})
