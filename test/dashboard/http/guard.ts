import t from 'tap'
import { NO_ACCESS_USAGE, NO_PLACE_USAGE } from '../../fixtures/dashboard/dashboard.js'
import { setUpKeys, type Made } from '../../fixtures/dashboard/keys.js'
import { sendInHalves } from '../../fixtures/dashboard/send-in-halves.js'
import { exchange } from '../../fixtures/server/server.js'
import { until } from '../../fixtures/until.js'

t.test(
  'a key beside a session counts alone, and a header that is no key counts as none',
  async t => {
    const { accessId, dashboard, make, path, ada } = await setUpKeys(t)
    await dashboard.accessService.generate({ accessId, network: 'main', location: 'fra' })
    const token = `${path}/networks/main/locations/fra/token`
    const { secret } = await make('usage:read')
    const bearer = { authorization: `Bearer ${secret}` }
    const json = { 'content-type': 'application/json' }
    const change = (headers: Record<string, string>) =>
      ada.ask(`${token}/regenerate`, {
        method: 'POST',
        headers: { ...json, ...headers },
        body: '{}',
      })
    t.match(await change(bearer), { status: 403, json: { error: { code: 'apiKeyScope' } } })
    const csrf = { origin: dashboard.url, 'x-slotline': '1' }
    t.match(await change({ ...bearer, ...csrf }), {
      status: 403,
      json: { error: { code: 'apiKeyScope' } },
    })
    t.match(await ada.call('DELETE', token, undefined, bearer), {
      status: 403,
      json: { error: { code: 'apiKeyRoute' } },
    })
    const wrong = { authorization: `Bearer ${secret}x` }
    t.equal((await ada.ask('/api/session', { headers: wrong })).status, 401)
    for (const authorization of ['Basic YTpi', 'Bearer eyJhbGciOi', secret, '', 'Bearer']) {
      t.equal((await ada.ask('/api/session', { headers: { authorization } })).status, 200)
      t.match(await change({ authorization }), {
        status: 403,
        json: { error: { code: 'crossOrigin' } },
      })
    }
    t.equal(dashboard.accessService.list(accessId).length, 1)
  },
)

t.test('headers that are no single key are refused', async t => {
  const { dashboard, make, path } = await setUpKeys(t)
  const [{ secret }, other] = [await make('usage:read'), await make('usage:read')]
  const send = (...lines: readonly string[]) =>
    exchange(
      dashboard.port,
      [`GET ${path}/usage HTTP/1.1`, 'Host: localhost', 'Connection: close', ...lines, '', ''].join(
        '\r\n',
      ),
    )
  t.match(await send(`Authorization: Bearer ${secret}`), /^HTTP\/1\.1 200/)
  t.match(await send(`authorization: bearer   ${secret}  `), /^HTTP\/1\.1 200/)
  for (const lines of [
    [`Authorization: Bearer ${secret}`, `Authorization: Bearer ${other.secret}`],
    [`Authorization: Bearer ${secret}`, `Authorization: Bearer ${secret}`],
    [`Authorization: Basic YTpi`, `Authorization: Bearer ${secret}`],
    [`Authorization: Bearer ${secret}, Bearer ${secret}`],
    [`Authorization: Bearer ${secret} x`],
    [`Authorization: Bearer ${secret.slice(0, -1)}`],
    [`Authorization: Bearer ${secret}${'a'.repeat(8_192)}`],
    [`Authorization: Bearer slk_${'a'.repeat(8_192)}`],
    [`Authorization: Bearer slk_`],
  ])
    t.match(await send(...lines), /^HTTP\/1\.1 401/, lines.join().slice(0, 60))
  t.match(await send(`Authorization: Bearer slk_${'a'.repeat(20_000)}`), /^HTTP\/1\.1 431/)
  t.notOk(dashboard.lines.join('').includes(secret.slice(4, 20)))
})

t.test('a thousand wrong keys are limited by address; right ones and sessions go on', async t => {
  const limits = { failuresBurstMax: 30, failuresPerMinuteMax: 1 }
  const { dashboard, make, ask, path, ada } = await setUpKeys(t, { dashboard: limits })
  const { secret } = await make('usage:read')
  const counts = new Map<number, number>()
  for (let round = 0; round < 20; round++) {
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, at) =>
        ask(`slk_${String(round * 50 + at).padStart(38, '0')}`, 'GET', `${path}/usage`),
      ),
    )
    for (const { status, headers } of answers) {
      counts.set(status, (counts.get(status) ?? 0) + 1)
      if (status === 429) t.ok(Number(headers.get('retry-after')) > 0)
    }
    t.equal((await ada.ask(`${path}/usage`)).status, 200, 'the session of a bystander')
    if (round % 5 === 0) t.equal((await ask(secret, 'GET', `${path}/usage`)).status, 200)
  }
  t.strictSame(
    [...counts],
    [
      [401, 30],
      [429, 970],
    ],
  )
  t.equal(dashboard.lines.filter(line => line.includes('API key refused')).length, 30)
})

t.test('requests and changes with one key are limited, and those with another are not', async t => {
  const limits = {
    ...{ keyRequestsBurstMax: 3, keyRequestsPerMinuteMax: 1 },
    ...{ changesBurstMax: 4, changesPerMinuteMax: 1 },
  }
  const { make, ask, path } = await setUpKeys(t, { dashboard: limits })
  const [one, other] = [await make('usage:read', 'token:restrict'), await make('usage:read')]
  const restriction = `${path}/networks/main/locations/fra/token/restriction`
  const reads = []
  for (let nth = 0; nth < 5; nth++) reads.push(await ask(one.secret, 'GET', `${path}/usage`))
  t.strictSame(
    reads.map(({ status }) => status),
    [200, 200, 200, 429, 429],
  )
  t.ok(Number(reads[4]?.headers.get('retry-after')) > 50)
  const changes = []
  for (let nth = 0; nth < 6; nth++)
    changes.push((await ask(one.secret, 'PUT', restriction, { address: '8.8.8.8' })).status)
  t.strictSame(changes, [404, 404, 404, 404, 429, 429])
  t.equal((await ask(other.secret, 'GET', `${path}/usage`)).status, 200)
})

t.test('a key that is revoked during a request does nothing any more', async t => {
  const held: ((usage: typeof NO_ACCESS_USAGE) => void)[] = []
  const usage = {
    ...NO_PLACE_USAGE,
    ofAccess: () => new Promise<typeof NO_ACCESS_USAGE>(resolve => held.push(resolve)),
  }
  const { accessId, ada, ask, dashboard, make, path } = await setUpKeys(t, { usage })
  await dashboard.accessService.generate({ accessId, network: 'main', location: 'fra' })
  const revoke = async ({ key }: Made) =>
    t.equal((await ada.call('DELETE', `${path}/keys/${key.keyId}`)).status, 204)

  const reading = await make('usage:read')
  const read = ask(reading.secret, 'GET', `${path}/usage`)
  await until('the read runs', () => held.length === 1)
  await revoke(reading)
  held[0]?.(NO_ACCESS_USAGE)
  t.equal((await read).status, 401, 'what it reads is not answered')

  const changing = await make('token:restrict')
  const body = '{"address":"8.8.8.8"}'
  const sent = {
    url: dashboard.url,
    path: `${path}/networks/main/locations/fra/token/restriction`,
    body,
  }
  const headers = { authorization: `Bearer ${changing.secret}` }
  const status = await sendInHalves(sent, headers, () => revoke(changing))
  t.equal(status, 401, 'a body that ends after the revocation')
  t.equal(dashboard.accessService.list(accessId)[0]?.address, undefined)
})

t.test('a machine that cannot prove its accesses takes no key', async t => {
  const lease = { isValid: true }
  const { make, ask, path, ada } = await setUpKeys(t, { isCurrent: () => lease.isValid })
  const { secret } = await make('usage:read')
  lease.isValid = false
  t.match(await ask(secret, 'GET', `${path}/usage`), {
    status: 503,
    json: { error: { code: 'leaseExpired' } },
  })
  t.equal((await ada.ask(`${path}/usage`)).status, 200)
})
