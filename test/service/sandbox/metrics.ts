import t from 'tap'
import { askAdmin } from '../../fixtures/dashboard/admin.js'
import { DashboardClient } from '../../fixtures/dashboard/dashboard-client.js'
import { sharedSandbox } from '../../fixtures/processes/shared-sandbox.js'
import { until } from '../../fixtures/until.js'

const LIMITS = { requestsPerSecondMax: 1, requestsBurstMax: 60 }
const AT = 'network="sandbox",location="fra"'

t.test('metrics of an access equal what a load generator has counted', async t => {
  const { description } = await sharedSandbox()
  const granted = await askAdmin({ description }, 'POST', '/accesses', {
    ...{ subject: 'sandbox', kind: 'pass', product: 'node-access', limits: LIMITS },
  })
  const accessId = String(granted.body['accessId'])
  const path = `/api/accesses/${accessId}`
  const ada = new DashboardClient(description.dashboardUrl)
  const user = description.identity.users.find(({ email }) => email.startsWith('ada'))
  await ada.signIn({ email: user?.email ?? '', password: user?.password ?? '' })
  const made = await ada.call('POST', `${path}/networks/sandbox/locations/fra/token`)
  const { rpcUrl } = Object(made.json)
  const key = await ada.call('POST', `${path}/keys`, {
    ...{ label: 'Prometheus', scopes: ['usage:read'], validUntilMs: Date.now() + 60_000 },
  })
  const { secret } = Object(key.json)

  const counts = new Map<string, number>()
  const add = (series: string): unknown => counts.set(series, (counts.get(series) ?? 0) + 1)
  const send = async (method: string, params: readonly unknown[]): Promise<void> => {
    const answer = await fetch(String(rpcUrl), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
    const { error } = Object(await answer.json())
    if (answer.status === 429) {
      add('over_limit_total{limit="requestsPerSecondMax"}')
      add('limited')
      return
    }
    add(`requests_total{${AT},method="${method}"}`)
    if (error !== undefined) add(`errors_total{${AT},method="${method}",code="${error.code}"}`)
  }
  for (let round = 0; round < 25; round++)
    await Promise.all([
      send('getSlot', []),
      send('getBalance', ['11111111111111111111111111111111']),
      send('getBalance', ['x']),
      send('noSuchMethod', []),
    ])
  const sum = (name: string): number =>
    [...counts].reduce((all, [series, count]) => all + (series.startsWith(name) ? count : 0), 0)
  const limited = sum('limited')
  t.equal(sum('requests_total') + limited, 100)
  t.ok(limited > 0)

  const program = new DashboardClient(description.dashboardUrl)
  const read = async () => {
    const authorization = `Bearer ${secret}`
    const { status, text } = await program.ask(`${path}/metrics`, { headers: { authorization } })
    t.equal(status, 200)
    const valueOf = (line: string): number => Number(line.slice(line.lastIndexOf(' ') + 1))
    const lines = text.split('\n').filter(line => line.startsWith('slotline_access_'))
    return {
      of: (series: string) => {
        const name = `slotline_access_${series} `
        return valueOf(lines.find(line => line.startsWith(name)) ?? ' 0')
      },
      sum: (name: string) =>
        lines
          .filter(line => line.startsWith(`slotline_access_${name}{`))
          .reduce((all, line) => all + valueOf(line), 0),
    }
  }
  // The limiter's refusals are stored each second.
  await until('refusals are recorded', async () => {
    return (await read()).sum('over_limit_total') >= limited
  })
  const found = await read()
  for (const [series, count] of counts)
    if (series !== 'limited') t.equal(found.of(series), count, series)
  t.equal(found.sum('requests_total'), 100, 'with those over the limit')
  t.equal(found.sum('rate_limited_total'), limited)
  t.equal(found.sum('errors_total'), sum('errors_total'))
})
