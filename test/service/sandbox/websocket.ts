import t, { type Test } from 'tap'
import { askAdmin, grantScope } from '../../fixtures/dashboard/admin.js'
import type { Deployment } from '../../fixtures/processes/deployment.js'
import { sharedSandbox } from '../../fixtures/processes/shared-sandbox.js'
import { openSocket, SocketRefusal, type SocketClient } from '../../fixtures/server/socket.js'
import { until } from '../../fixtures/until.js'
import { latencyMax } from '../../fixtures/soak.js'

const call = (method: string, params: unknown = [], id: unknown = 1): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params })

const post = async (url: string, body: string): Promise<string> => {
  const headers = { 'content-type': 'application/json' }
  return (await fetch(url, { method: 'POST', headers, body })).text()
}

/** Text of a reply without what moves on by itself. */
const steady = (text: string): string => text.replaceAll(/"slot":\d+/g, '"slot":0')

const refusal = async (opening: Promise<SocketClient>): Promise<SocketRefusal> => {
  const refused = await opening.then(
    client => client.destroy(),
    (error: unknown) => error,
  )
  if (refused instanceof SocketRefusal) return refused
  throw new Error('it was opened', { cause: refused })
}

/** A separate access with a token of `fra`. */
const makeToken = async (deployment: Deployment, limits: Readonly<Record<string, number>> = {}) => {
  const { accessId, tokenPath } = await grantScope(deployment, 'fra', limits)
  const { body } = await askAdmin(deployment, 'POST', tokenPath)
  const path = `/${String(body['token'])}`
  return { accessId, tokenPath, path, wsUrl: String(body['wsUrl']) }
}

t.test('JSON-RPC over a WebSocket', async t => {
  const deployment = await sharedSandbox('--edges', '2', '--traffic', '0')
  const { description, port, url } = deployment
  const { samples } = description
  const { path, wsUrl: shownUrl } = await makeToken(deployment)
  const open = (t: Test, options: Parameters<typeof openSocket>[1] = {}) =>
    openSocket(port, { path, ...options }).then(client => {
      t.teardown(() => client.destroy())
      return client
    })

  t.test('every message is answered as over HTTP', async t => {
    const client = await open(t)
    const account = call('getAccountInfo', [samples['tokenAccount'], { encoding: 'jsonParsed' }])
    const pubkeys = Array.from({ length: 20_000 }, () => samples['wallet'])
    const messages = [
      account,
      call('getBalance', [samples['wallet']], 'a"b'),
      call('getAccountInfo', [samples['wallet']], null),
      `{"jsonrpc":"2.0","id":1e3,"method":"getMultipleAccounts","params":[["${samples['mint']}"]]}`,
      call('getMultipleAccounts', [pubkeys]),
      call('getProgramAccountsV2', [samples['program'], { limit: 1_000, encoding: 'base64' }]),
      call('getTokenLargestAccounts', [samples['mint']]),
      call('getAccountInfo', ['short']),
      call('getEpochSchedule'),
      `[${account},{},${call('getBalance', [samples['wallet']], 3)},${call('getGenesisHash', [], 4)}]`,
      `[${call('getMultipleAccounts', [pubkeys.slice(0, 9_000)])},${account}]`,
      '[]',
      '{',
      '"text"',
      '{"jsonrpc":"2.0","id":{},"method":"getSlot"}',
      call('no such method'),
      call('accountSubscribe', {}).replace('accountSubscribe', 'nothingSubscribe'),
      JSON.stringify({ jsonrpc: '2.0', id: 5, method: 'getVersion', params: {} }),
    ]
    for (const message of messages) {
      client.send(message)
      const [reply, expected] = await Promise.all([client.next(), post(url, message)])
      t.equal(steady(reply), steady(expected), message.slice(0, 80))
    }
    t.ok(client.opcodes.every(opcode => opcode === 1))
  })

  t.test('concurrent calls are answered with their ids', async t => {
    const client = await open(t)
    const ids = Array.from({ length: 200 }, (_, id) => id)
    const page = (id: number): string =>
      call('getProgramAccountsV2', [samples['program'], { limit: 50 }], id)
    for (const id of ids)
      client.send(id % 4 === 0 ? page(id) : call('getBalance', [samples['wallet']], id))
    const seen = new Set<unknown>()
    for (const _ of ids) {
      const reply = JSON.parse(await client.next())
      t.ok('result' in reply)
      seen.add(reply.id)
    }
    t.equal(seen.size, ids.length)
  })

  t.test('notifications and pings are never answered', async t => {
    const client = await open(t)
    client.send('{"jsonrpc":"2.0","method":"ping"}')
    client.send(' {"method":"ping","jsonrpc":"2.0","params":[]}')
    client.send('{"jsonrpc":"2.0","method":"getSlot"}')
    client.send('[{"jsonrpc":"2.0","method":"getSlot"}]')
    client.send(call('getVersion', [], 'last'))
    t.equal(JSON.parse(await client.next()).id, 'last')
    t.equal(client.messages.length, 1)
  })

  t.test('the upgrade checks the token', async t => {
    const token = path.slice(1)
    for (const headers of [{ 'x-token': token }, { Authorization: `Bearer ${token}` }]) {
      const client = await open(t, { path: '/', headers })
      t.match(await client.call('getVersion'), { result: {} })
    }
    const next = await openSocket(port + 1, { path })
    t.match(await next.call('getVersion'), { result: {} }, 'at port + 1, which web3.js derives')
    next.destroy()
    const [, nyc] = description.locations
    t.equal(new URL(description.locations[0].wsUrl).protocol, 'ws:')
    const urls = [shownUrl, ...description.locations.map(({ wsUrl }) => wsUrl)]
    for (const wsUrl of urls) {
      const { port: own, pathname } = new URL(wsUrl)
      const client = await openSocket(Number(own), { path: pathname })
      t.match(await client.call('getVersion'), { result: {} }, 'a URL that people are shown')
      client.destroy()
    }
    const elsewhere = Number(new URL(nyc.wsUrl).port)
    const cases: [name: string, open: () => Promise<SocketClient>, status: number][] = [
      ['no token', () => openSocket(port), 401],
      ['an unknown token', () => openSocket(port, { path: `${path}0` }), 401],
      ['another location', () => openSocket(elsewhere, { path }), 401],
    ]
    for (const [name, open, status] of cases) t.equal((await refusal(open())).status, status, name)
    const reply = await fetch(`http://127.0.0.1:${port}${path}`)
    t.equal(reply.status, 405, 'a plain GET')
  })

  t.test('subscriptions need a WebSocket', async t => {
    for (const method of ['accountSubscribe', 'slotUnsubscribe', 'blockSubscribe'])
      t.match(await post(url, call(method, [samples['wallet']])), /-32601/, method)
  })

  t.test('a message over the bound: 1009', async t => {
    const client = await open(t)
    client.send(`"${'x'.repeat(1024 ** 2)}"`)
    t.match(await client.closed, { code: 1009 })
  })

  t.test('over the rate: -32005, and the socket stays open', async t => {
    const { path } = await makeToken(deployment, { requestsPerSecondMax: 10, requestsBurstMax: 5 })
    const client = await open(t, { path })
    for (let id = 0; id < 20; id++) client.send(call('getVersion', [], id))
    const replies = []
    for (let id = 0; id < 20; id++) replies.push(JSON.parse(await client.next()))
    const refused = replies.filter(reply => 'error' in reply)
    t.ok(refused.length >= 13 && refused.length <= 15, `${refused.length} of 20`)
    t.match(refused[0].error, { code: -32005, message: 'Too many requests' })
    t.match(refused[0].error.data, { limit: 'requestsPerSecondMax', max: 10, retryAfterMs: Number })
    for (let count = 0; count < 200; count++) client.send('{"jsonrpc":"2.0","method":"ping"}')
    await new Promise(resolve => setTimeout(resolve, 600))
    t.match(await client.call('getVersion'), { result: {} }, 'pings are free')
    const batch = Array.from({ length: 6 }, (_, id) => JSON.parse(call('getVersion', [], id)))
    client.send(JSON.stringify(batch))
    t.strictSame(JSON.parse(await client.next()), {
      jsonrpc: '2.0',
      error: {
        code: -32005,
        message: 'Too many requests: at most 5 calls in a batch',
        data: { limit: 'requestsBurstMax', max: 5 },
      },
      id: null,
    })
    t.equal(client.opcodes.includes(8), false)
  })

  t.test('over the sockets of an access: 429', async t => {
    const { path } = await makeToken(deployment, { socketsMax: 2 })
    const [first] = [await open(t, { path }), await open(t, { path })]
    const { status, head, body } = await refusal(openSocket(port, { path }))
    t.equal(status, 429)
    t.match(head, /retry-after: \d/i)
    t.match(JSON.parse(body), { error: { data: { limit: 'socketsMax', max: 2 } } })
    first.close(1000)
    t.match(await first.closed, { code: 1000 })
    await until('the queue has space again', async () => {
      const client = await openSocket(port, { path }).catch(() => undefined)
      client?.destroy()
      return client !== undefined
    })
  })

  t.test('a client that keeps sending refused messages: 1013', async t => {
    const { path } = await makeToken(deployment, { requestsPerSecondMax: 1, requestsBurstMax: 1 })
    const client = await open(t, { path })
    const large = call('getVersion', ['x'.repeat(1_000_000)])
    for (let count = 0; count < 40; count++) client.send(large)
    t.strictSame(await client.closed, { code: 1013, reason: 'over a limit' })
  })

  t.test('a change of its access closes the socket with 1008', async t => {
    const changes: [
      name: string,
      reason: string,
      change: (target: { accessId: string; tokenPath: string }) => Promise<{ status: number }>,
    ][] = [
      ['revoked', 'token revoked', ({ tokenPath }) => askAdmin(deployment, 'DELETE', tokenPath)],
      [
        'regenerated',
        'token revoked',
        ({ tokenPath }) => askAdmin(deployment, 'POST', `${tokenPath}/regenerate`),
      ],
      [
        'restricted',
        'address refused',
        ({ tokenPath }) =>
          askAdmin(deployment, 'PUT', `${tokenPath}/restriction`, { address: '8.8.8.8' }),
      ],
      [
        'ended',
        'access ended',
        ({ accessId }) => askAdmin(deployment, 'POST', `/accesses/${accessId}/end`),
      ],
    ]
    for (const [name, reason, change] of changes) {
      const { path, ...target } = await makeToken(deployment)
      const clients = await Promise.all(Array.from({ length: 10 }, () => open(t, { path })))
      for (const client of clients) client.send(call('getVersion'))
      for (const client of clients) await client.next()
      const startMs = performance.now()
      const { status } = await change(target)
      t.ok(status < 300, `${name}: ${status}`)
      for (const client of clients) t.strictSame(await client.closed, { code: 1008, reason })
      t.ok(
        performance.now() - startMs < latencyMax(1_000),
        `${Math.round(performance.now() - startMs)} ms`,
      )
    }
    const { path, accessId } = await makeToken(deployment)
    const client = await open(t, { path })
    const endMs = Date.now() + 700
    const extend = `/accesses/${accessId}/extend`
    const { status } = await askAdmin(deployment, 'POST', extend, { validUntilMs: endMs })
    t.equal(status, 200)
    t.strictSame(await client.closed, { code: 1008, reason: 'access ended' }, 'by the clock')
    t.ok(Math.abs(Date.now() - endMs) < latencyMax(1_000), `${Date.now() - endMs} ms after its end`)
    const other = await open(t)
    t.match(await other.call('getVersion'), { result: {} }, 'other connections continue')
  })

  t.test('a restriction closes only other addresses', async t => {
    const { path, tokenPath } = await makeToken(deployment)
    // The sandbox believes this one peer.
    const through = { path, localAddress: '127.0.0.9', headers: { 'X-Forwarded-For': '8.8.8.8' } }
    const [other, allowed] = [await open(t, { path }), await open(t, through)]
    const restriction = `${tokenPath}/restriction`
    const { status } = await askAdmin(deployment, 'PUT', restriction, { address: '8.8.8.8' })
    t.equal(status, 200)
    t.strictSame(await other.closed, { code: 1008, reason: 'address refused' })
    t.match(await allowed.call('getVersion'), { result: {} })
    t.equal((await refusal(openSocket(port, { path }))).status, 403)
    const spoofed = openSocket(port, { path, headers: { 'X-Forwarded-For': '8.8.8.8' } })
    t.equal((await refusal(spoofed)).status, 403)
    const again = await open(t, through)
    t.match(await again.call('getVersion'), { result: {} })
  })

  t.test('the metrics count sockets and messages', async t => {
    const page = await (await fetch(description.metricsUrl)).text()
    t.match(page, /slotline_websockets\{process="edge 0"\} \d/)
    t.match(page, /slotline_websocket_closes_total\{[^}]*code="1008"[^}]*\} [1-9]/)
    t.match(page, /slotline_websocket_messages_total\{[^}]*\} [1-9]/)
    t.match(page, /slotline_websocket_queued_bytes\{[^}]*\} 0/)
  })

  t.test('a restart: 1012', async t => {
    const clients = await Promise.all(Array.from({ length: 20 }, () => open(t)))
    const stopped = deployment.stop()
    for (const client of clients)
      t.strictSame(await client.closed, { code: 1012, reason: 'restart' })
    t.equal(await stopped, 0)
    const lines = deployment.output().split('\n')
    t.notMatch(lines.filter(line => line.startsWith('{')).join('\n'), /slt_/, 'no token is logged')
  })
})
