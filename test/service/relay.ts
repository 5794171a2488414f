import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { childPids, startDeployment } from '../fixtures/processes/deployment.js'
import { createBundler } from '../fixtures/submission/bundler.js'
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

  const look = async (id: unknown): Promise<Record<string, unknown>> => {
    const { json } = await send(`/${token}/relay`, ask('getSubmission', [id]))
    return Object(json.result) as Record<string, unknown>
  }

  /** Sends a bundle on many connections, and kills a process while the engine has it. */
  const killAmid = async (kill: () => void) => {
    await setFault(engine, { clear: true })
    await setFault(engine, { delayMs: 3_000 })
    const { texts } = await newBundle()
    const body = sendBundle('/relay-bundle', texts)
    const sent = Array.from({ length: 12 }, () =>
      send(`/${token}/relay-bundle`, body).catch(() => undefined),
    )
    await until('it is at the engine', async () => (await bundlesAt(engine)) === 1)
    // The others are checked meanwhile. What comes to the next sender is not in flight.
    await sleep(1_000)
    kill()
    const answered = (await Promise.all(sent)).filter(one => one !== undefined)
    t.equal(await bundlesAt(engine), 1, 'nothing is sent twice')
    return answered
  }

  await t.test('a killed edge ends its connections; others get the engine’s answer', async t => {
    const [pid] = deployment.pidsOf('edge')
    const answered = await killAmid(() => process.kill(requirePid(pid), 'SIGKILL'))
    t.ok(answered.length < 12, 'connections of the killed edge are closed')
    for (const { json, headers } of answered) t.equal(json.result, headers['x-bundle-id'])
    await until(
      'there are two edges again',
      () => childPids(deployment.supervisor.pid ?? 0, 'slotline edge').length === 2,
    )
  })

  await t.test('with a killed sender the outcome is unknown, and the next one serves', async t => {
    const [pid] = deployment.pidsOf('sender')
    let killedMs = 0
    const answered = await killAmid(() => {
      process.kill(requirePid(pid), 'SIGKILL')
      killedMs = performance.now()
    })
    t.equal(answered.length, 12)
    for (const { json, headers } of answered)
      t.strictSame(json.error, {
        code: -32_603,
        message: 'submission outcome unknown',
        data: { submissionId: headers['x-relay-submission-id'] },
      })
    await setFault(engine, { clear: true })
    const { texts } = await newBundle()
    const next = await send(`/${token}/relay-bundle`, sendBundle('/relay-bundle', texts))
    // A busy machine may take longer to start the next one.
    if (next.status !== 503) t.equal(next.json.result, next.headers['x-bundle-id'])
    await until('the next one serves', async () => {
      const { status } = await send(`/${token}/relay-bundle`, sendBundle('/relay-bundle', texts))
      return status === 200
    })
    t.comment(`served ${Math.round(performance.now() - killedMs)} ms after the kill`)
    let shown: Awaited<ReturnType<typeof look>>[] = []
    await until('each is recorded, by the edges where the sender has not', async () => {
      shown = await Promise.all(
        answered.map(({ headers }) => look(headers['x-relay-submission-id'])),
      )
      return shown.every(one => one['outcome'] === 'unknown')
    })
    t.ok(shown.every(({ checks }) => checks === 'passed'))
    const forwarded = shown.filter(({ forwardedAtMs }) => typeof forwardedAtMs === 'number')
    t.equal(forwarded.length, 1, 'the time of sending is stored of the one that was sent')
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
