import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { childPids, startDeployment } from '../fixtures/processes/deployment.js'
import { createBundler } from '../fixtures/submission/bundler.js'
import { StoreReaders } from '../../src/submission/store/store-readers.js'
import { parseId } from '../../src/submission/store/submission-id.js'
import { runDocumented } from '../fixtures/docs/documented.js'
import { post, sendBundle, type Answered } from '../fixtures/submission/relay.js'
import { setFault, received } from '../fixtures/sandbox/upstream.js'
import { until } from '../fixtures/until.js'
import { requirePid } from '../fixtures/processes/require-pid.js'

const bundlesAt = async (url: string): Promise<number> =>
  (await received(url)).filter(({ body }) => body.includes('sendBundle')).length

const ask = (method: string, params: unknown): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })

const UUID_7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

t.test('the relay routes of a deployment with two edges', async t => {
  const deployment = await startDeployment(t, { args: ['--edges', '2', '--traffic', '0'] })
  const { description, dataDir, port, url } = deployment
  const { bundleEngineUrl: engine } = description
  const token = url.slice(url.lastIndexOf('/') + 1)
  const newBundle = createBundler(deployment)
  const send = (path: string, body: string, headers = {}): Promise<Answered> =>
    post(port, path, body, headers)
  await setFault(engine, { clear: true })

  await t.test('a bundle of either route lands, and its submission can be queried', async t => {
    for (const route of ['/relay', '/relay-bundle'] as const) {
      const { texts, signature, untilPaid } = await newBundle()
      const { json, headers } = await send(`/${token}${route}`, sendBundle(route, texts, 'x'))
      const bundleId = headers['x-bundle-id']
      t.strictSame(json, {
        jsonrpc: '2.0',
        id: 'x',
        result: route === '/relay' ? [signature] : bundleId,
      })
      await untilPaid()
      for (let look = 0; look < 6; look++) {
        const get = ask('getSubmission', [headers['x-relay-submission-id']])
        const { json } = await send(`/${token}${route}`, get)
        t.match(json.result, {
          bundleId,
          signatures: [signature],
          outcome: 'accepted',
          location: 'fra',
        })
      }
      if (route === '/relay') continue
      const status = await send(`/${token}${route}`, ask('getBundleStatuses', [[bundleId]]))
      t.match(status.json.result, { value: [{ bundle_id: bundleId, transactions: [signature] }] })
    }
  })

  await t.test('the commands of the documentation work', async t => {
    const { answers, bundleId } = await runDocumented('Relay routes', dataDir)
    t.match(bundleId, /^[0-9a-f]{64}$/)
    t.match(answers, [
      { result: [/^[1-9A-HJ-NP-Za-km-z]{86,88}$/] },
      { result: bundleId },
      { result: { value: Array } },
      { result: { value: [{ bundle_id: bundleId, status: /^(Pending|Landed)$/ }] } },
      { result: description.tips.engine },
      { result: { serviceTipAccounts: description.tips.service } },
      { result: { route: '/relay-bundle', bundleId, outcome: 'accepted' } },
    ])
  })

  await t.test('the token may be in each of these parts of a request', async t => {
    const tips = ask('getTipAccounts', [])
    const bearer = { authorization: `Bearer ${token}` }
    const ways: [path: string, headers: Record<string, string>][] = [
      [`/${token}/relay-bundle`, {}],
      [`/${token}/relay-bundle?x=/bundles`, {}],
      ['/relay-bundle', { 'x-token': token }],
      ['/relay-bundle', { 'x-api-key': token }],
      ['/relay-bundle', bearer],
      [`/relay-bundle?api-key=${token}`, {}],
      [`/relay-bundle?x=/getTipAccounts`, bearer],
    ]
    for (const [path, headers] of ways) {
      const { json } = await send(path, tips, headers)
      t.strictSame(json.result, description.tips.engine, path.replace(token, '…'))
    }
  })

  await t.test(
    'a request that is refused before it is parsed has a submission id, too',
    async t => {
      const ways: [path: string, body: string, headers: Record<string, string>, status: number][] =
        [
          ['/relay', '{}', {}, 401],
          ['/slt_x/relay-bundle', '{}', {}, 401],
          [`/${token}/relay`, '{}', { 'content-type': 'text/plain' }, 415],
          [`/${token}/relay`, ' '.repeat(70_000), {}, 413],
        ]
      for (const [path, body, headers, status] of ways) {
        const answered = await send(path, body, headers)
        t.equal(answered.status, status)
        t.match(answered.headers['x-relay-submission-id'], UUID_7, String(status))
      }
    },
  )

  await t.test('the same bundle on many connections is sent to the engine once', async t => {
    for (let round = 0; round < 3; round++) {
      await setFault(engine, { clear: true })
      await setFault(engine, { delayMs: 150 })
      const { texts } = await newBundle()
      const body = sendBundle('/relay-bundle', texts)
      const answered = await Promise.all(
        Array.from({ length: 12 }, () => send(`/${token}/relay-bundle`, body)),
      )
      t.equal(new Set(answered.map(({ text }) => text)).size, 1)
      t.ok(answered.every(({ json, headers }) => json.result === headers['x-bundle-id']))
      t.equal(new Set(answered.map(({ headers }) => headers['x-relay-submission-id'])).size, 12)
      t.equal(await bundlesAt(engine), 1)
    }
  })

  await t.test(
    'after a kill of the sending edge other clients get an unknown outcome, and nothing is sent twice',
    async t => {
      await setFault(engine, { clear: true })
      await setFault(engine, { delayMs: 1_500 })
      const { texts } = await newBundle()
      const body = sendBundle('/relay-bundle', texts)
      const first = send(`/${token}/relay-bundle`, body).catch(() => undefined)
      await until('it is at the engine', async () => (await bundlesAt(engine)) === 1)
      const others = Array.from({ length: 12 }, () =>
        send(`/${token}/relay-bundle`, body).catch(() => undefined),
      )
      const page = await (await fetch(description.metricsUrl)).text()
      const [, leader = ''] = /slotline_relay_in_flight\{process="edge (\d)"\} 1/.exec(page) ?? []
      process.kill(requirePid(deployment.pidsOf('edge')[Number(leader)]), 'SIGKILL')
      const answered = (await Promise.all(others)).filter(one => one !== undefined)
      t.equal(await first, undefined, 'the connection of its own client is closed')
      t.ok(answered.length > 0)
      for (const { json, headers } of answered)
        t.strictSame(json.error, {
          code: -32_603,
          message: 'submission outcome unknown',
          data: { submissionId: headers['x-relay-submission-id'] },
        })
      t.equal(await bundlesAt(engine), 1)
      await until(
        'there are two edges again',
        () => childPids(deployment.supervisor.pid ?? 0, 'slotline edge').length === 2,
      )
      const look = async (id: unknown) => {
        const { json } = await send(`/${token}/relay`, ask('getSubmission', [id]))
        return json.result as Record<string, unknown>
      }
      const joinedId = String(answered[0]?.headers['x-relay-submission-id'])
      const shown = await look(joinedId)
      t.match(shown, { outcome: 'unknown', forwardedAtMs: null, joined: true })
      const readers = new StoreReaders(dataDir, undefined)
      const findSent = () => readers.find(parseId(joinedId) ?? new Uint8Array())?.joined
      await until('it is on the disk', () => typeof findSent() === 'string')
      const left = await look(findSent())
      await readers.close()
      t.match(left, { outcome: 'unknown', answeredAtMs: null, checks: 'passed' })
      t.type(left['forwardedAtMs'], 'number', 'the time of sending is stored')
      t.strictSame(readdirSync(join(dataDir, 'edges')).sort(), ['0', '1', 'lock-table'])
    },
  )

  await t.test('metrics count it, and no secret is printed', async t => {
    const page = await (await fetch(description.metricsUrl)).text()
    t.match(
      page,
      /slotline_relay_calls_total\{[^}]*route="\/relay-bundle"[^}]*method="sendBundle",outcome="ok"\} \d+/,
    )
    t.match(page, /slotline_relay_joined_total\{[^}]*\} [1-9]/)
    t.match(page, /slotline_relay_tips_differ\{[^}]*\} 0/)
    t.match(page, /slotline_submission_store_records\{[^}]*\} [1-9]/)
    for (const secret of [token, 'iris-sandbox', '5a11d8b0-51f7'])
      t.notOk(page.includes(secret), 'on the page')
    // The start prints URLs that hold the token.
    const [, later = ''] = deployment.output().split('Ctrl-C stops it')
    for (const secret of [token, 'iris-sandbox', '5a11d8b0-51f7'])
      t.notOk(later.includes(secret), 'in the log')
  })

  // A forwarded request is answered although the service is stopped before the answer.
  await setFault(engine, { clear: true })
  await setFault(engine, { delayMs: 1_500 })
  const { texts, signature } = await newBundle()
  const answered = send(`/${token}/relay`, sendBundle('/relay', texts))
  await until('it is at the engine', async () => (await bundlesAt(engine)) === 1)
  t.equal(await deployment.stop(), 0)
  t.strictSame((await answered).json.result, [signature])
})
