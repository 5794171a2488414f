import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { defaults } from '../../../../src/dashboard/webhooks/options.js'
import { ADA, BEN, startDashboard } from '../../../fixtures/dashboard/dashboard.js'
import { DashboardClient } from '../../../fixtures/dashboard/dashboard-client.js'
import { openReceiver, signatureOf } from '../../../fixtures/dashboard/receiver.js'
import { ownDir } from '../../../fixtures/own-dir.js'

const SECRET = /^whsec_[A-Za-z0-9+/]{43}=$/
const webhooks = { ...defaults, allowLoopback: true }

t.test('a webhook is set, tested, revealed, replaced and removed', async t => {
  const dataDir = ownDir(t)
  const dashboard = await startDashboard(t, { dataDir, dashboard: { webhooks } })
  const [ada, ben] = [new DashboardClient(dashboard.url), new DashboardClient(dashboard.url)]
  await ada.signIn(ADA)
  await ben.signIn(BEN)
  const { accessId } = await dashboard.grant('ada')
  const path = `/api/accesses/${accessId}/webhook`
  const receiver = await openReceiver(t)
  t.strictSame((await ada.ask(path)).json, { webhook: null })
  for (const [method, more] of [
    ['DELETE', ''],
    ['POST', '/test'],
    ['POST', '/resume'],
    ['POST', '/reveal-secret'],
  ] as const)
    t.match(await ada.call(method, path + more), {
      status: 404,
      json: { error: { code: 'noWebhook' } },
    })

  const made = await ada.call('PUT', path, { url: receiver.url })
  t.match(made, { status: 200, json: { webhook: { url: receiver.url, goneAtMs: null } } })
  const secret = String(Object(made.json).secret)
  t.match(secret, SECRET)
  t.strictSame((await ada.call('POST', `${path}/reveal-secret`)).json, { secret })
  t.match((await ada.call('POST', `${path}/test`)).json, { status: 204, problem: '' })
  const [received] = receiver.received
  t.equal(received?.signature, received && signatureOf(secret, received))
  t.match((await ada.ask(path)).json, {
    webhook: {
      url: receiver.url,
      deliveries: [{ kind: 'test', state: 'delivered', attempts: 1, nextAtMs: null, status: 204 }],
    },
  })

  for (const more of ['', '/test', '/resume', '/reveal-secret'])
    t.match(
      await ben.call(more === '' ? 'DELETE' : 'POST', path + more),
      { status: 404, json: { error: { code: 'noSuchAccess' } } },
      'only of the own access',
    )
  t.equal((await ben.call('PUT', path, { url: receiver.url })).status, 404)
  t.equal((await ben.ask(path)).status, 404)

  const again = Object((await ada.call('PUT', path, { url: receiver.url })).json)
  t.match(again.secret, SECRET)
  t.not(again.secret, secret, 'a new one')

  const stored = readdirSync(join(dataDir, 'access')).map(name =>
    readFileSync(join(dataDir, 'access', name), 'latin1'),
  )
  const audit = readdirSync(join(dataDir, 'audit')).map(name =>
    readFileSync(join(dataDir, 'audit', name), 'utf8'),
  )
  const everything = [...stored, ...audit, ...dashboard.lines].join('\n')
  for (const canary of [secret, String(again.secret), 'canary'])
    t.notOk(everything.includes(canary), 'neither URL nor secret is stored or logged as it is')
  t.match(audit.join(''), `"request":{"origin":"${new URL(receiver.url).origin}"}`)
  for (const action of ['set-webhook', 'reveal-webhook', 'test-webhook'])
    t.match(audit.join(''), `"action":"${action}","by":"ada"`)

  t.equal((await ada.call('DELETE', path)).status, 204)
  t.strictSame((await ada.ask(path)).json, { webhook: null })
})

t.test('a webhook that answers 410 is off until it is resumed', async t => {
  const dashboard = await startDashboard(t, { dashboard: { webhooks } })
  const ada = new DashboardClient(dashboard.url)
  await ada.signIn(ADA)
  const { accessId } = await dashboard.grant('ada')
  const path = `/api/accesses/${accessId}/webhook`
  const receiver = await openReceiver(t)
  receiver.answer = response => response.writeHead(410).end()
  await ada.call('PUT', path, { url: receiver.url })
  t.match((await ada.call('POST', `${path}/test`)).json, { status: 410 })
  t.match((await ada.ask(path)).json, { webhook: { goneAtMs: Number } })
  t.match((await ada.call('POST', `${path}/resume`)).json, { webhook: { goneAtMs: null } })
})

t.test('what may be set, how often, and after which sign-in', async t => {
  const dashboard = await startDashboard(t, { dashboard: { changesBurstMax: 6 } })
  const ada = new DashboardClient(dashboard.url)
  await ada.signIn(ADA)
  const { accessId } = await dashboard.grant('ada')
  const path = `/api/accesses/${accessId}/webhook`
  const cases: readonly (readonly [body: object, message: string])[] = [
    [{ url: 'http://hooks.example.com/canary' }, 'body.url must begin with https://'],
    [
      { url: 'https://10.0.0.1/canary' },
      'body.url must have a public address: this one is of a private or reserved network',
    ],
    [{ url: 'canary' }, 'body.url must be a URL, such as https://hooks.example.com/a1b2'],
    [{}, 'body.url is missing'],
  ]
  for (const [body, message] of cases)
    t.match(await ada.call('PUT', path, body), {
      status: 400,
      json: { error: { code: 'wrongInput', message } },
    })
  t.notOk(dashboard.lines.join('').includes('canary'))
  dashboard.clock.nowMs += 16 * 60_000
  for (const [method, more] of [
    ['PUT', ''],
    ['POST', '/reveal-secret'],
  ] as const)
    t.match(await ada.call(method, path + more, method === 'PUT' ? { url: 'x' } : undefined), {
      status: 403,
      json: { error: { code: 'signInTooOld' } },
    })
  t.match(await ada.call('DELETE', path), {
    status: 429,
    json: { error: { code: 'tooManyAttempts' } },
  })
})
