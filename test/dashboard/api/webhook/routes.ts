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

/** Adds a webhook; returns its path. */
const add = async (client: DashboardClient, path: string, url: string): Promise<string> => {
  const made = await client.call('POST', path, { url })
  return `${path}/${String(Object(Object(made.json).webhook).webhookId)}`
}

t.test('a webhook is added, tested, revealed, replaced and removed', async t => {
  const dataDir = ownDir(t)
  const dashboard = await startDashboard(t, { dataDir, dashboard: { webhooks } })
  const [ada, ben] = [new DashboardClient(dashboard.url), new DashboardClient(dashboard.url)]
  await ada.signIn(ADA)
  await ben.signIn(BEN)
  const { accessId } = await dashboard.grant('ada')
  const path = `/api/accesses/${accessId}/webhooks`
  const receiver = await openReceiver(t)
  t.strictSame((await ada.ask(path)).json, { webhooks: [] })
  for (const [method, more] of [
    ['DELETE', ''],
    ['POST', '/test'],
    ['POST', '/resume'],
    ['POST', '/reveal-secret'],
  ] as const)
    t.match(await ada.call(method, `${path}/whk_none${more}`), {
      status: 404,
      json: { error: { code: 'noWebhook' } },
    })

  const made = await ada.call('POST', path, { url: receiver.url })
  t.match(made, { status: 200, json: { webhook: { url: receiver.url, goneAtMs: null } } })
  const one = `${path}/${String(Object(Object(made.json).webhook).webhookId)}`
  const secret = String(Object(made.json).secret)
  t.match(secret, SECRET)
  t.strictSame((await ada.call('POST', `${one}/reveal-secret`)).json, { secret })
  t.match((await ada.call('POST', `${one}/test`)).json, { status: 204, problem: '' })
  const [received] = receiver.received
  t.equal(received?.signature, received && signatureOf(secret, received))
  t.match((await ada.ask(path)).json, {
    webhooks: [
      {
        url: receiver.url,
        deliveries: [
          { kind: 'test', state: 'delivered', attempts: 1, nextAtMs: null, status: 204 },
        ],
      },
    ],
  })

  for (const more of ['', '/test', '/resume', '/reveal-secret'])
    t.match(
      await ben.call(more === '' ? 'DELETE' : 'POST', one + more),
      { status: 404, json: { error: { code: 'noSuchAccess' } } },
      'only of the own access',
    )
  for (const [method, where] of [
    ['PUT', one],
    ['POST', path],
  ] as const)
    t.equal((await ben.call(method, where, { url: receiver.url })).status, 404)
  t.equal((await ben.ask(path)).status, 404)

  const again = Object((await ada.call('PUT', one, { url: receiver.url })).json)
  t.match(again.secret, SECRET)
  t.not(again.secret, secret, 'a new one')
  const other = await add(ada, path, `${receiver.url}&other`)
  t.equal(Object((await ada.ask(path)).json).webhooks.length, 2)

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

  t.equal((await ada.call('DELETE', one)).status, 204)
  t.equal((await ada.call('DELETE', other)).status, 204)
  t.strictSame((await ada.ask(path)).json, { webhooks: [] })
  for (let index = 0; index < 8; index++) await add(ada, path, receiver.url)
  t.match(await ada.call('POST', path, { url: receiver.url }), {
    status: 409,
    json: {
      error: { code: 'webhooksFull', message: 'This access has 8 webhooks: remove one first' },
    },
  })
})

t.test('a webhook that answers 410 is off until it is resumed', async t => {
  const dashboard = await startDashboard(t, { dashboard: { webhooks } })
  const ada = new DashboardClient(dashboard.url)
  await ada.signIn(ADA)
  const { accessId } = await dashboard.grant('ada')
  const path = `/api/accesses/${accessId}/webhooks`
  const receiver = await openReceiver(t)
  receiver.answer = response => response.writeHead(410).end()
  const one = await add(ada, path, receiver.url)
  t.match((await ada.call('POST', `${one}/test`)).json, { status: 410 })
  t.match((await ada.ask(path)).json, { webhooks: [{ goneAtMs: Number }] })
  t.match((await ada.call('POST', `${one}/resume`)).json, { webhook: { goneAtMs: null } })
})

t.test('what may be set, how often, and after which sign-in', async t => {
  const dashboard = await startDashboard(t, { dashboard: { changesBurstMax: 6 } })
  const ada = new DashboardClient(dashboard.url)
  await ada.signIn(ADA)
  const { accessId } = await dashboard.grant('ada')
  const path = `/api/accesses/${accessId}/webhooks`
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
    t.match(await ada.call('POST', path, body), {
      status: 400,
      json: { error: { code: 'wrongInput', message } },
    })
  t.notOk(dashboard.lines.join('').includes('canary'))
  dashboard.clock.nowMs += 16 * 60_000
  for (const [method, more, body] of [
    ['POST', '', { url: 'x' }],
    ['POST', '/whk_1/reveal-secret', undefined],
  ] as const)
    t.match(await ada.call(method, path + more, body), {
      status: 403,
      json: { error: { code: 'signInTooOld' } },
    })
  t.match(await ada.call('DELETE', `${path}/whk_1`), {
    status: 429,
    json: { error: { code: 'tooManyAttempts' } },
  })
})
