// Submission by the WebSocket of a location, compared with the HTTP routes.
import { createHash } from 'node:crypto'
import t from 'tap'
import { runToEnd } from '../../fixtures/processes/deployment.js'
import { sharedSandbox } from '../../fixtures/processes/shared-sandbox.js'
import { createBundler } from '../../fixtures/submission/bundler.js'
import { post, sendBundle } from '../../fixtures/submission/relay.js'
import { received, setFault } from '../../fixtures/sandbox/upstream.js'
import { openSocket, type SocketClient } from '../../fixtures/server/socket.js'
import { until } from '../../fixtures/until.js'

const UUID_7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const BASE64 = { encoding: 'base64' }
const RELAY_OPTIONS = { ...BASE64, mevProtect: true, revertProtection: true }

const text = (method: string, params: unknown, id: unknown = 7): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params })

const idOf = (signatures: readonly string[]): string =>
  createHash('sha256').update(signatures.join(',')).digest('hex')

t.test('submission by WebSocket', async t => {
  const deployment = await sharedSandbox('--edges', '2', '--traffic', '0')
  const { description, dataDir, port, url } = deployment
  const { bundleEngineUrl: engine, landerUrl: lander } = description
  const token = url.slice(url.lastIndexOf('/') + 1)
  const newBundle = createBundler(deployment)
  const open = async (path = `/${token}`): Promise<SocketClient> => {
    const client = await openSocket(port, { path })
    t.teardown(() => client.destroy())
    return client
  }
  const client = await open()
  const ask = async (message: string): Promise<Record<string, unknown>> => {
    client.send(message)
    return JSON.parse(await client.next())
  }
  const countOf = async (upstream: string, method: string): Promise<number> =>
    (await received(upstream)).filter(({ body }) => body.includes(method)).length
  await setFault(engine, { clear: true })
  await setFault(lander, { clear: true })

  await t.test('a transaction and bundles land', async t => {
    const one = await newBundle()
    const sent = text('sendTransaction', [one.texts[0], BASE64])
    t.match(await ask(sent), { jsonrpc: '2.0', result: one.signature, id: 7 })
    await one.untilPaid()
    const bodies = (await received(lander)).map(({ body }) => body)
    t.ok(bodies.includes(sent), 'to the lander, byte for byte')

    const two = await newBundle()
    const bundleId = idOf([two.signature])
    t.match(await ask(text('relay.sendBundle', [two.texts, RELAY_OPTIONS])), {
      result: [two.signature],
      id: 7,
      headers: { 'x-relay-submission-id': UUID_7, 'x-bundle-id': bundleId },
    })
    await two.untilPaid()
    const three = await newBundle()
    const answer = await ask(text('relay-bundle.sendBundle', [three.texts, BASE64], 'x'))
    t.match(answer, { result: idOf([three.signature]), id: 'x' })
    await three.untilPaid()
    const { headers } = answer as { headers: Record<string, string> }
    const found = await ask(text('relay-bundle.getSubmission', [headers['x-relay-submission-id']]))
    t.match(found, {
      result: { route: '/relay-bundle', outcome: 'accepted', signatures: [three.signature] },
      headers: { 'x-relay-submission-id': UUID_7 },
    })
    for (const route of ['relay', 'relay-bundle'])
      t.match(await ask(text(`${route}.getTipAccounts`, [])), { result: description.tips.engine })
  })

  await t.test('an error is the same as on the route', async t => {
    const { texts } = await newBundle()
    const cases: [method: string, route: string, own: string, params: unknown][] = [
      ['sendTransaction', '/lander', 'sendTransaction', []],
      ['sendTransaction', '/lander', 'sendTransaction', ['x', BASE64]],
      ['sendTransaction', '/lander', 'sendTransaction', [texts[0], { encoding: 'base58' }]],
      ['relay.sendBundle', '/relay', 'sendBundle', [texts, BASE64]],
      ['relay.sendBundle', '/relay', 'sendBundle', [[], RELAY_OPTIONS]],
      ['relay-bundle.sendBundle', '/relay-bundle', 'sendBundle', [['AAAA'], BASE64]],
      ['relay.getBundleStatuses', '/relay', 'getBundleStatuses', [['a']]],
      ['relay-bundle.getBundleStatuses', '/relay-bundle', 'getBundleStatuses', [['a']]],
      ['relay.x', '/relay', 'x', []],
    ]
    for (const [method, route, own, params] of cases) {
      const { json } = await post(port, `/${token}${route}`, text(own, params))
      const { headers: _headers, ...reply } = await ask(text(method, params))
      t.strictSame(reply, json, `${method} ${JSON.stringify(params)}`)
    }
    const repeated = text('relay.sendBundle', [texts, RELAY_OPTIONS]).replace(
      '"encoding"',
      '"encoding":"base58","encoding"',
    )
    t.match(await ask(repeated), { error: { code: -32600, message: 'Invalid request' }, id: 7 })
    const before = await countOf(lander, 'sendTransaction')
    const batch = `[${text('sendTransaction', [texts[0], BASE64], 1)},${text('getSlot', [], 2)}]`
    t.match(await ask(batch), [
      { error: { code: -32600 }, id: 1 },
      { result: Number, id: 2 },
    ])
    const long = text('relay.sendBundle', [['A'.repeat(70_000)], RELAY_OPTIONS])
    t.match(await ask(long), { error: { code: -32600, message: /65536 bytes/ } })
    t.equal(await countOf(lander, 'sendTransaction'), before, 'nothing was forwarded')
  })

  await t.test('a failure has the status and headers of the HTTP answer', async t => {
    const submit = async () => {
      const { texts } = await newBundle()
      return ask(text('sendTransaction', [texts[0], BASE64]))
    }
    const busy = '{"jsonrpc":"2.0","error":{"code":-32005,"message":"busy"},"id":7}'
    await setFault(lander, { status: 429, headers: { 'retry-after': '3' }, body: busy })
    t.match(await submit(), {
      error: { code: -32005, message: 'busy' },
      id: 7,
      status: 429,
      headers: { 'retry-after': '3' },
    })
    const message = /^the answer with HTTP status 200 is not a reply to this call/
    for (const body of ['<html>', '{"jsonrpc":"2.0","result":"x","id":8}', '[]', '{"id":7}']) {
      await setFault(lander, { status: 200, body })
      t.match(await submit(), { error: { code: -32603, message, data: { body } }, id: 7 }, body)
    }
    const long = `{"jsonrpc":"2.0","result":"${'x'.repeat(70_000)}","id":7}`
    await setFault(lander, { status: 200, body: long })
    const { error } = await submit()
    t.match(error, { code: -32603, message, data: { body: long.slice(0, 1_024) } }, 'too long')
    await setFault(lander, { reset: 'after', times: 1 })
    t.match(await submit(), {
      error: { code: -32603, message: 'submission outcome unknown' },
      status: 504,
    })
    await setFault(lander, { clear: true })
    await setFault(engine, { status: 429, body: '' })
    const { texts } = await newBundle()
    t.match(await ask(text('relay-bundle.sendBundle', [texts, BASE64])), {
      error: { code: -32010 },
      headers: { 'retry-after': '1', 'x-bundle-id': String },
    })
    await setFault(engine, { clear: true })
  })

  await t.test('the same bundle by WebSocket and HTTP is sent once', async t => {
    const { texts, signature } = await newBundle()
    const before = await countOf(engine, 'sendBundle')
    await setFault(engine, { delayMs: 300 })
    const others = [await open(), await open()]
    const message = text('relay-bundle.sendBundle', [texts, BASE64])
    for (const one of others) one.send(message)
    const [http, ...replies] = await Promise.all([
      post(port, `/${token}/relay-bundle`, sendBundle('/relay-bundle', texts, 7)),
      ...others.map(async one => JSON.parse(await one.next())),
    ])
    const result = idOf([signature])
    for (const reply of [http.json, ...replies]) t.match(reply, { result, id: 7 })
    t.equal((await countOf(engine, 'sendBundle')) - before, 1)
    await setFault(engine, { clear: true })
  })

  await t.test(
    'a socket that is revoked meanwhile is closed, and nothing more is sent',
    async t => {
      const target = ['--data-dir', dataDir]
      const run = async (...words: readonly string[]) => {
        const { code, output } = await runToEnd(t, ['access', ...words, ...target])
        if (code !== 0) throw new Error(output)
        return output === '' ? {} : JSON.parse(output)
      }
      const limits = 'requestsInFlightMax=2,requestsPerSecondMax=1000,requestsBurstMax=1000'
      const { accessId } = await run(
        ...['grant', '--subject', 'ada', '--product', 'node-access', '--limits', limits],
      )
      const made = await run('token', 'generate', accessId, 'sandbox', 'fra')
      const own = await open(`/${made.token}`)
      await setFault(engine, { delayMs: 1_000 })
      const bundles = [await newBundle(), await newBundle(), await newBundle()]
      for (const [id, { texts }] of bundles.entries())
        own.send(text('relay-bundle.sendBundle', [texts, BASE64], id))
      t.match(JSON.parse(await own.next()), {
        error: { code: -32005, data: { limit: 'requestsInFlightMax', max: 2 } },
        id: 2,
      })
      await run('token', 'revoke', accessId, 'sandbox', 'fra')
      t.match(await own.closed, { code: 1008 })
      await setFault(engine, { clear: true })
      for (const { untilPaid } of bundles.slice(0, 2)) await untilPaid()
      await until('its usage is counted by route', async () => {
        const { output } = await runToEnd(t, ['usage', '--csv', '--access', accessId, ...target])
        return /,\/relay-bundle,2,0,0\r\n/.test(output) && /,\(none\),1,0,1\r\n/.test(output)
      })
    },
  )

  await t.test('what a client has sent is submitted, though it disconnects', async () => {
    const { texts, untilPaid } = await newBundle()
    const own = await open()
    await setFault(engine, { clear: true })
    own.send(text('relay.sendBundle', [texts, RELAY_OPTIONS]))
    own.close(1000)
    await own.closed
    await untilPaid()
  })

  await t.test('messages over the bound close the socket', async t => {
    const sizes: [bytes: number, code: number][] = [
      [1_100_000, 1009],
      // It is not read to its end.
      [8 * 1024 ** 2, 1006],
    ]
    for (const [bytes, code] of sizes) {
      const own = await open()
      own.send(text('sendTransaction', ['A'.repeat(bytes), BASE64]))
      t.match(await own.closed, { code })
    }
    const half = await open()
    half.send(text('sendTransaction', []).slice(0, 30), { isLast: false })
    half.destroy()
    t.match(await ask(text('getSlot', [])), { result: Number })
  })
})
