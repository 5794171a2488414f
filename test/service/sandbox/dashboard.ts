import t from 'tap'
import { statusOf } from '../../fixtures/processes/deployment.js'
import { sharedSandbox } from '../../fixtures/processes/shared-sandbox.js'
import { until } from '../../fixtures/until.js'
import { askAdmin } from '../../fixtures/dashboard/admin.js'
import { DashboardClient } from '../../fixtures/dashboard/dashboard-client.js'
import { requirePid } from '../../fixtures/processes/require-pid.js'

/** Members of a JSON object; none where it is no object. */
const membersOf = (json: unknown): Readonly<Record<string, unknown>> =>
  typeof json === 'object' && json !== null ? { ...json } : {}

/** A rule that every access may have, with what it is about. */
const toRule = (kind: string, threshold: number, windowMinutes = 0, countMin = 0) => ({
  ...{ kind, isOn: true, threshold, windowMinutes, countMin, method: '' },
  ...{ onlyRising: false, sendsResolved: false, webhooks: null },
})

t.test('alert rules find what a client has counted itself', async t => {
  const deployment = await sharedSandbox('--edges', '2', '--traffic', '0')
  const { dashboardUrl, identity } = deployment.description
  const client = new DashboardClient(dashboardUrl)
  await client.signIn(identity.users[2])
  const granted = await askAdmin(deployment, 'POST', '/accesses', {
    ...{ subject: 'operator', kind: 'rental', product: 'node-access' },
    validUntilMs: Date.now() + 86_400_000,
    limits: { requestsPerSecondMax: 2, requestsBurstMax: 200, requestsInFlightMax: 64 },
  })
  const access = `/api/accesses/${String(granted.body['accessId'])}`
  const scope = `${access}/networks/sandbox/locations/fra`
  const { rpcUrl } = membersOf((await client.call('POST', `${scope}/token`)).json)
  const rules = [
    ...[toRule('errors-rising', 10, 5, 20), toRule('p99-high', 1, 5, 20)],
    ...[toRule('limit-near', 50), toRule('rental-ending', 3)],
  ]
  t.equal((await client.call('PUT', `${access}/alerts`, { rules })).status, 200)

  const counted = { requests: 0, errors: 0 }
  for (const method of ['getSlot', 'noSuchMethod', 'getEpochInfo', 'noSuchMethod'])
    for (let nth = 0; nth < 20; nth++) {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method })
      const headers = { 'content-type': 'application/json' }
      const response = await fetch(String(rpcUrl), { method: 'POST', headers, body })
      counted.requests += 1
      if ('error' in membersOf(await response.json())) counted.errors += 1
    }
  t.ok(counted.errors >= 40)
  const { requests, errors } = counted
  const percent = Math.round((errors * 100) / requests)
  const used = Math.round(requests / 6) / 10
  let warnings: unknown
  await until('each rule has found it', async () => {
    warnings = membersOf((await client.ask(`${access}/warnings`)).json)['warnings']
    const text = JSON.stringify(warnings)
    return text.includes(`"used":${used}`) && text.split(`"requests":${requests}`).length === 3
  })
  t.match(warnings, [
    { kind: 'errors-rising', network: 'sandbox', location: 'fra', values: { errors, percent } },
    { kind: 'p99-high', values: { requests, threshold: 1 } },
    { kind: 'limit-near', values: { limit: 'requestsPerSecondMax', used, max: 2 } },
    { kind: 'rental-ending' },
  ])
})

t.test('changes in the dashboard apply at the RPC port once it answers', async t => {
  const { description, pidsOf, output } = await sharedSandbox('--edges', '2', '--traffic', '0')
  const { dashboardUrl, identity } = description
  const [, ben] = identity.users
  const client = new DashboardClient(dashboardUrl)
  t.equal(await client.signIn(ben), '/')
  t.match((await client.ask('/api/session')).json, { email: ben.email, name: 'Ben Rental' })
  const { accesses } = membersOf((await client.ask('/api/accesses')).json) as {
    accesses: { accessId: string; kind: string; state: string }[]
  }
  t.match(accesses, [{ kind: 'rental', state: 'active' }])
  const accessId = accesses[0]?.accessId ?? ''
  const scopeOf = (location: string): string =>
    `/api/accesses/${accessId}/networks/sandbox/locations/${location}`
  const urlOf = (json: unknown): string => String(membersOf(json)['rpcUrl'])
  const fra = scopeOf('fra')

  const made = await client.call('POST', `${fra}/token`)
  t.equal(made.status, 201)
  const first = urlOf(made.json)
  t.ok(first.startsWith(`${new URL(description.locations[0].rpcUrl).origin}/slt_`))
  t.equal(await statusOf(first), 200, 'generated')
  const nyc = urlOf((await client.call('POST', `${scopeOf('nyc')}/token`)).json)
  const elsewhere = first.replace(new URL(first).origin, new URL(nyc).origin)
  t.equal(await statusOf(elsewhere), 401, 'at another location')

  const regenerated = await client.call('POST', `${fra}/token/regenerate`)
  const second = urlOf(regenerated.json)
  t.equal(await statusOf(first), 401, 'regenerated: the one before')
  t.equal(await statusOf(second), 200, 'regenerated: the new one')

  t.equal(
    (await client.call('PUT', `${fra}/token/restriction`, { address: '8.8.8.8' })).status,
    200,
  )
  t.equal(await statusOf(second), 403, 'restricted to another address')
  t.equal((await client.call('PUT', `${fra}/token/restriction`, { address: '' })).status, 200)
  t.equal(await statusOf(second), 200, 'and no longer')

  // What the relay refuses is found in the dashboard, with the words of the check.
  const relayed = await fetch(`${second}/relay`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'sendBundle',
      params: [['no'], { encoding: 'base64', mevProtect: true, revertProtection: true }],
    }),
  })
  const refusal = (await relayed.json()) as { error: { message: string } }
  const submissionId = relayed.headers.get('x-relay-submission-id')
  let submissions: unknown
  await until('the submission is listed', async () => {
    submissions = (await client.ask(`/api/accesses/${accessId}/submissions`)).json
    return JSON.stringify(submissions).includes(String(submissionId))
  })
  t.match(submissions, {
    submissions: [
      { submissionId, location: 'fra', outcome: 'invalid', checks: refusal.error.message },
    ],
  })
  await until('the calls are counted', async () => {
    const { minutes } = membersOf((await client.ask(`${fra}/usage`)).json) as {
      minutes: { requests: number }[]
    }
    return minutes.some(({ requests }) => requests > 0)
  })

  const burst = await Promise.all(Array.from({ length: 40 }, () => statusOf(second)))
  t.ok(burst.includes(429), 'over the limits of the rental')
  t.ok(burst.includes(200))
  t.equal(
    await statusOf(description.locations[0].rpcUrl),
    200,
    "another person's access has its own",
  )

  t.equal((await client.call('DELETE', `${fra}/token`)).status, 204)
  t.equal(await statusOf(second), 401, 'revoked')
  t.not(await statusOf(nyc), 401, 'the other location was not touched')

  // The session is on disk, so it outlives the process that made it.
  const control = requirePid(pidsOf('control')[0])
  process.kill(control, 'SIGKILL')
  await until('the session is valid after control was killed', () =>
    client.ask('/api/session').then(
      ({ status }) => status === 200,
      () => false,
    ),
  )
  t.equal(await statusOf(second), 401, 'and a revoked token is still refused')
  t.notMatch(output(), /slt_[0-9A-Za-z]{38}.*"level"/)
})
