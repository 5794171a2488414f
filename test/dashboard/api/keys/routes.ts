import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { API_KEY_SCOPES } from '../../../../src/access/store/key-shape.js'
import { BEN } from '../../../fixtures/dashboard/dashboard.js'
import { DashboardClient } from '../../../fixtures/dashboard/dashboard-client.js'
import { setUpKeys, type Made } from '../../../fixtures/dashboard/keys.js'
import { ownDir } from '../../../fixtures/own-dir.js'
import { until } from '../../../fixtures/until.js'

const KEY = /^slk_[0-9A-Za-z]{38}$/
const DAY_MS = 86_400_000

t.test('a key is made, listed, used and revoked, and is nowhere but in one answer', async t => {
  const dataDir = ownDir(t)
  const { dashboard, ada, path, ask } = await setUpKeys(t, { dataDir })
  t.strictSame((await ada.ask(`${path}/keys`)).json, { keys: [] })
  const validUntilMs = dashboard.clock.nowMs + DAY_MS
  const body = { label: ' Prometheus ', scopes: ['usage:read'], validUntilMs }
  const made = await ada.call('POST', `${path}/keys`, body)
  t.equal(made.status, 201)
  const { key, secret } = made.json as Made
  t.match(secret, KEY)
  const listed = {
    ...{ keyId: key.keyId, label: 'Prometheus', tail: secret.slice(-4), scopes: ['usage:read'] },
    ...{ createdAtMs: dashboard.clock.nowMs, validUntilMs, lastUsedMs: null },
  }
  t.strictSame(key, listed)
  t.strictSame((await ada.ask(`${path}/keys`)).json, { keys: [listed] })
  t.equal((await ask(secret, 'GET', `${path}/usage`)).status, 200)
  t.match(await ask(secret, 'GET', `${path}/keys`), {
    status: 403,
    json: { error: { code: 'apiKeyRoute' } },
  })
  t.equal((await ada.call('DELETE', `${path}/keys/${key.keyId}`)).status, 204)
  t.match(await ask(secret, 'GET', `${path}/usage`), {
    status: 401,
    json: { error: { code: 'apiKey', message: 'The API key is unknown, or has ended' } },
  })
  t.match(await ada.call('DELETE', `${path}/keys/${key.keyId}`), {
    status: 404,
    json: { error: { code: 'noSuchApiKey' } },
  })
  const audit = readdirSync(join(dataDir, 'audit')).map(name =>
    readFileSync(join(dataDir, 'audit', name), 'utf8'),
  )
  t.match(
    audit.join(''),
    `"action":"make-api-key","by":"ada","from":"127.0.0.1","accessId":"${path.split('/')[3]}",` +
      `"request":{"label":" Prometheus ","scopes":["usage:read"],"validUntilMs":${validUntilMs},"keyId":"${key.keyId}"}`,
  )
  t.match(audit.join(''), `"action":"revoke-api-key","by":"ada"`)
  const stored = readdirSync(join(dataDir, 'access')).map(name =>
    readFileSync(join(dataDir, 'access', name), 'latin1'),
  )
  t.notOk([...stored, ...audit, ...dashboard.lines].join('\n').includes(secret.slice(4)))
})

t.test('each route takes a key with its scope only, and most take none', async t => {
  const { accessId, make, ask, dashboard } = await setUpKeys(t)
  const document = Object((await new DashboardClient(dashboard.url).ask('/api/openapi.json')).json)
  const secrets = new Map<string, string>()
  for (const scope of API_KEY_SCOPES) secrets.set(scope, (await make(scope)).secret)
  const taken = new Map<string, string[]>()
  for (const [path, operations] of Object.entries(document.paths as object))
    for (const [method, { security }] of Object.entries<{ security: object[] }>(operations)) {
      if (!security.some(way => 'session' in way)) continue
      const [scope] = security.flatMap(way => ('apiKey' in way ? (way.apiKey as string[]) : []))
      if (scope !== undefined) taken.set(scope, [...(taken.get(scope) ?? []), `${method} ${path}`])
      const at = path
        .replace('{accessId}', accessId)
        .replace('{network}', 'main')
        .replace('{location}', 'fra')
        .replaceAll(/\{\w+\}/g, 'x')
      for (const [own, secret] of secrets) {
        const { json, status } = await ask(secret, method.toUpperCase(), at)
        const code = Object(json).error?.code
        const name = `${method} ${path} with ${own}`
        if (scope === undefined) t.strictSame([status, code], [403, 'apiKeyRoute'], name)
        else if (scope === own) t.notMatch(code, /^apiKey/, name)
        else t.strictSame([status, code], [403, 'apiKeyScope'], name)
      }
    }
  t.strictSame([...taken.keys()].toSorted(), API_KEY_SCOPES.toSorted())
  t.strictSame(taken.get('token:restrict')?.length, 1)
  t.strictSame(taken.get('token:regenerate')?.length, 2, 'the new token, and the end of the former')
  const alerts = ['get', 'put'].map(method => `${method} /api/accesses/{accessId}/alerts`)
  t.strictSame(taken.get('alerts:manage'), alerts)
  for (const name of [...taken.values()].flat()) t.notMatch(name, /keys|reveal|webhook|sign-out/)
})

t.test('a key restricts, regenerates and sets rules, whenever its holder signed in', async t => {
  const dataDir = ownDir(t)
  const { accessId, dashboard, make, ask, path } = await setUpKeys(t, { dataDir })
  const scope = { accessId, network: 'main', location: 'fra' }
  const { token } = await dashboard.accessService.generate(scope)
  const at = `${path}/networks/main/locations/fra/token`
  const [restricting, regenerating] = [await make('token:restrict'), await make('token:regenerate')]
  const alerting = await make('alerts:manage')
  dashboard.clock.nowMs += DAY_MS / 2
  const { secret, key } = restricting
  const restricted = await ask(secret, 'PUT', `${at}/restriction`, { address: '8.8.8.8' })
  t.match(restricted, { status: 200, json: { token: { address: '8.8.8.8' } } })
  t.notOk(restricted.text.includes(token.reveal()))
  t.match(await ask(secret, 'POST', `${at}/reveal`, {}), {
    status: 403,
    json: { error: { code: 'apiKeyRoute' } },
  })
  const again = await ask(regenerating.secret, 'POST', `${at}/regenerate`, { overlapSeconds: 60 })
  t.match(again, { status: 200, json: { secret: /^slt_/ } })
  t.equal((await ask(regenerating.secret, 'DELETE', `${at}/former`)).status, 200)
  t.match(await ask(alerting.secret, 'PUT', `${path}/alerts`, { rules: [] }), { status: 200 })
  t.strictSame((await ask(alerting.secret, 'GET', `${path}/alerts`)).json, { rules: [] })
  const audit = readdirSync(join(dataDir, 'audit'))
    .map(name => readFileSync(join(dataDir, 'audit', name), 'utf8'))
    .join('')
  t.match(audit, `"action":"set-alerts","by":null,"apiKey":"${alerting.key.keyId}"`)
  t.match(audit, `"action":"restrict","by":null,"apiKey":"${key.keyId}","from":"127.0.0.1"`)
  for (const action of ['regenerate', 'end-former'])
    t.match(audit, `"action":"${action}","by":null,"apiKey":"${regenerating.key.keyId}"`)
})

t.test('what may be made, how many, and after which sign-in', async t => {
  const { accessId, ada, dashboard, path, make } = await setUpKeys(t)
  const { nowMs } = dashboard.clock
  const right = { label: 'bot', scopes: ['usage:read'], validUntilMs: nowMs + DAY_MS }
  const cases: readonly (readonly [body: object, status: number, code: string])[] = [
    [{ ...right, label: '' }, 400, 'wrongInput'],
    [{ ...right, label: ' ' }, 400, 'wrongInput'],
    [{ ...right, label: 'a'.repeat(101) }, 400, 'wrongInput'],
    [{ ...right, label: 'a\u202eb' }, 400, 'wrongInput'],
    [{ ...right, scopes: [] }, 400, 'wrongInput'],
    [{ ...right, scopes: ['usage:read', 'usage:read'] }, 400, 'wrongInput'],
    [{ ...right, scopes: ['keys:write'] }, 400, 'wrongInput'],
    [{ ...right, validUntilMs: null }, 400, 'wrongInput'],
    [{ label: 'bot', scopes: right.scopes }, 400, 'wrongInput'],
    [{ ...right, validUntilMs: nowMs }, 422, 'endPassed'],
    [{ ...right, validUntilMs: nowMs + 366 * DAY_MS + 1 }, 422, 'apiKeyEnd'],
    [{ ...right, validUntilMs: nowMs + 366 * DAY_MS }, 201, ''],
  ]
  for (const [body, status, code] of cases) {
    const answer = await ada.call('POST', `${path}/keys`, body)
    t.equal(answer.status, status, JSON.stringify(body).slice(0, 60))
    t.equal(Object(answer.json).error?.code ?? '', code)
  }
  for (let more = 1; more < 16; more++) t.match((await make('usage:read')).secret, KEY)
  t.match(await ada.call('POST', `${path}/keys`, right), {
    status: 409,
    json: { error: { code: 'apiKeysFull' } },
  })
  dashboard.clock.nowMs += 16 * 60_000
  t.match(await ada.call('POST', `${path}/keys`, right), {
    status: 403,
    json: { error: { code: 'signInTooOld' } },
  })
  dashboard.clock.nowMs += DAY_MS
  const validUntilMs = dashboard.clock.nowMs + DAY_MS
  const later = { label: 'bot', scopes: ['usage:read'], validUntilMs } as const
  await dashboard.accessService.makeKey(accessId, later)
  t.equal(dashboard.accessService.keysOf(accessId).length, 2, 'those that have ended give room')
})

t.test('the last use of a key is stored, at most once an hour', async t => {
  const { accessId, ask, dashboard, make, path } = await setUpKeys(t)
  const { secret } = await make('usage:read')
  const { clock, accessService } = dashboard
  const lastUsed = () => accessService.keysOf(accessId)[0]?.lastUsedMs
  const use = () => ask(secret, 'GET', `${path}/usage`)
  const usedMs = clock.nowMs
  await use()
  await until('the use is stored', () => lastUsed() === usedMs)
  clock.nowMs += 3_599_999
  await use()
  clock.nowMs += 1
  await use()
  await until('the next one is', () => lastUsed() !== usedMs)
  t.equal(lastUsed(), usedMs + 3_600_000)
})

t.test('a key opens its access only, and until its end', async t => {
  const { dashboard, make, ask, path, program, ada } = await setUpKeys(t)
  const { secret } = await make('usage:read')
  const other = await dashboard.grant('ada')
  const foreign = await dashboard.grant('ben')
  for (const { accessId } of [other, foreign, { accessId: 'acc_none' }])
    t.match(await ask(secret, 'GET', `/api/accesses/${accessId}/usage`), {
      status: 404,
      json: { error: { code: 'noSuchAccess' } },
    })
  const ben = new DashboardClient(dashboard.url)
  await ben.signIn(BEN)
  t.equal((await ben.ask(`${path}/keys`)).status, 404)
  t.equal((await ben.call('POST', `${path}/keys`, {})).status, 404)
  for (const at of [`?key=${secret}`, `?access_token=${secret}`, `?authorization=Bearer+${secret}`])
    t.equal((await program.ask(`${path}/usage${at}`)).status, 401, 'not in a URL')
  t.equal((await ada.ask(`${path}/usage/range?key=${secret}`)).status, 400)

  await dashboard.accessService.end(path.split('/')[3] ?? '')
  t.match(await ask(secret, 'GET', `${path}/usage`), {
    status: 403,
    json: { error: { code: 'accessEnded' } },
  })
  await dashboard.accessService.extend(path.split('/')[3] ?? '', null)
  t.equal((await ask(secret, 'GET', `${path}/usage`)).status, 200)
  dashboard.clock.nowMs += DAY_MS - 1
  t.equal((await ask(secret, 'GET', `${path}/usage`)).status, 200)
  dashboard.clock.nowMs += 1
  t.match(await ask(secret, 'GET', `${path}/usage`), {
    status: 401,
    json: { error: { code: 'apiKey' } },
  })
  t.equal(
    (await ask(secret, 'GET', `${path}/usage`)).headers.get('www-authenticate'),
    'Bearer error="invalid_token"',
  )
})
