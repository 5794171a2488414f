import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { openLimitTable, readUtilisation } from '../../src/access/limiter/limit-table.js'
import { storeAccesses, type StoredAccess } from '../fixtures/access/stored-accesses.js'
import { startDeployment, type Deployment } from '../fixtures/processes/deployment.js'
import { ownDir } from '../fixtures/own-dir.js'
import {
  connect,
  post,
  replyCount,
  splitReplies,
  type Connection,
} from '../fixtures/server/server.js'
import { setFault } from '../fixtures/sandbox/upstream.js'
import { until } from '../fixtures/until.js'
import { usageIn } from '../fixtures/usage/usage.js'
import { DashboardClient } from '../fixtures/dashboard/dashboard-client.js'

const EDGES = 2
/** One more is for the successor of an edge, and one for gRPC. */
const SLOTS = EDGES + 2
const placeOf = ({ accessId }: StoredAccess) => ({ accessId, network: 'sandbox', location: 'fra' })

/** Pause of each connection: together they send far more than the limits of the tests. */
const FLOOD_PAUSE_MS = 20

const CALL = '{"jsonrpc":"2.0","id":1,"method":"getLatestBlockhash"}'
const JSON_LINE = 'Content-Type: application/json'

/**
 * Sends the same again and again over connections that both edges have some of; answers with
 * statuses.
 */
const flood = async (
  port: number,
  path: string,
  { body = CALL, connections = 16, durationMs = 1_000 } = {},
): Promise<Map<number, number>> => {
  const statuses = new Map<number, number>()
  const endMs = Date.now() + durationMs
  const run = async (): Promise<void> => {
    const { socket, received, until: wait } = await connect(port)
    let count = 0
    while (Date.now() < endMs) {
      socket.write(post(path, body, [JSON_LINE]))
      await wait(text => replyCount(text) > count)
      count++
      await sleep(FLOOD_PAUSE_MS)
    }
    for (const { head } of splitReplies(received())) {
      const status = Number(head.slice(9, 12))
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
    socket.destroy()
  }
  await Promise.all(Array.from({ length: connections }, run))
  return statuses
}

const ask = async (
  { port }: Deployment,
  path: string,
  body = CALL,
  headers: Record<string, string> = {},
): Promise<{ status: number; headers: Headers; text: string }> => {
  const reply = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  })
  return { status: reply.status, headers: reply.headers, text: await reply.text() }
}

/** A request without its body: it is in flight while its connection is open. */
const hang = async (port: number, token: string): Promise<Connection> => {
  const connection = await connect(port)
  const lines = [`POST /${token} HTTP/1.1`, 'Host: a', JSON_LINE, 'Content-Length: 100', '', '{']
  connection.socket.write(lines.join('\r\n'))
  return connection
}

const start = (t: Test, dataDir: string): Promise<Deployment> =>
  startDeployment(t, { dataDir, args: ['--edges', String(EDGES)] })

t.test('limits of an access hold over all edges and routes of a machine', async t => {
  const dataDir = ownDir(t)
  const endsAtMs = Date.now() + 8_000
  const [rated, narrow, small, ending] = await storeAccesses(dataDir, [
    { requestsPerSecondMax: 50, requestsBurstMax: 20 },
    { requestsInFlightMax: 6 },
    { requestsPerSecondMax: 1, requestsBurstMax: 4 },
    { validUntilMs: endsAtMs },
  ])
  if (!rated || !narrow || !small || !ending) return
  const deployment = await start(t, dataDir)
  const { port } = deployment
  const table = openLimitTable(dataDir, SLOTS)
  const usage = usageIn(dataDir, Date.now)
  const countOf = async (access: StoredAccess) => {
    const sum = { requests: 0, errors: 0, rateLimited: 0, refused: 0 }
    for (const { startMs: _, ...counts } of (await usage.ofScope(placeOf(access))).minutes)
      for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += counts[name]
    return sum
  }

  await t.test('the rate is exact to the request', async t => {
    const startMs = Date.now()
    const statuses = await flood(port, `/${rated.token}`, { durationMs: 2_000 })
    const seconds = (Date.now() - startMs) / 1_000
    const passed = statuses.get(200) ?? 0
    const most = 20 + 50 * seconds
    // A busy machine may delay the clients by more than the burst.
    t.ok(passed <= most + 1 && passed >= most - 45, `${passed} passed of at most ${most}`)
    t.ok((statuses.get(429) ?? 0) > 20, `${statuses.get(429)} were refused`)
    t.equal(statuses.size, 2)
    t.match(await countOf(rated), {
      requests: passed + (statuses.get(429) ?? 0),
      errors: 0,
      refused: 0,
    })
    t.equal((await countOf(rated)).rateLimited, statuses.get(429))
  })

  await t.test('a 429 names its limit', async t => {
    for (let nth = 0; nth < 4; nth++)
      t.equal((await ask(deployment, `/${small.token}`)).status, 200)
    const { status, headers, text } = await ask(deployment, `/${small.token}`)
    t.equal(status, 429)
    t.match(JSON.parse(text), {
      error: {
        message: 'Too many requests',
        data: { limit: 'requestsPerSecondMax', max: 1, retryAfterMs: Number },
      },
    })
    t.equal(headers.get('retry-after'), '1')
    t.equal(headers.get('x-ratelimit-method-limit'), '1')
    t.equal(headers.get('x-ratelimit-method-remaining'), '0')
    t.equal(headers.get('access-control-allow-origin'), '*')
    t.match(headers.get('access-control-expose-headers'), /X-RateLimit-Method-Remaining/)
    await sleep(1_050)
    t.equal(
      (await ask(deployment, `/${small.token}`)).status,
      200,
      'after the interval of Retry-After',
    )
    // Header tokens and submissions are of the same access.
    const headers_ = { 'x-token': small.token }
    t.equal((await ask(deployment, '/', CALL, headers_)).status, 429)
    t.equal((await ask(deployment, '/lander', '{}', headers_)).status, 429)
    t.equal((await ask(deployment, `/${small.token}/lander-submit-bundle`, '{}')).status, 429)
  })

  await t.test('a batch counts its calls, and a refused one as one request', async t => {
    await sleep(4_100)
    const batch = (count: number): string => `[${Array(count).fill(CALL).join(',')}]`
    const over = await ask(deployment, `/${small.token}`, batch(5))
    t.equal(over.status, 429)
    t.match(JSON.parse(over.text), { error: { data: { limit: 'requestsBurstMax', max: 4 } } })
    t.equal((await ask(deployment, `/${small.token}`, batch(2))).status, 200)
    const left = await ask(deployment, `/${small.token}`, batch(3))
    t.equal(left.status, 429)
    t.equal(left.headers.get('x-ratelimit-method-remaining'), '0')
    t.equal((await ask(deployment, `/${small.token}`)).status, 429)
  })

  await t.test('a batch with more calls than may be in flight is answered', async t => {
    const { status, text } = await ask(
      deployment,
      `/${narrow.token}`,
      `[${Array(20).fill(CALL).join(',')}]`,
    )
    t.equal(status, 200)
    t.equal(JSON.parse(text).length, 20)
  })

  await t.test('errors are counted', async t => {
    const before = await countOf(narrow)
    t.match(
      await ask(deployment, `/${narrow.token}`, CALL.replace('LatestBlockhash', 'AccountInfo')),
      {
        status: 200,
      },
    )
    t.match(await ask(deployment, `/${narrow.token}`, '{'), { status: 200 })
    t.match(await ask(deployment, `/${narrow.token}`, `[${CALL},{}]`), { status: 200 })
    // Errors of our own on submission routes, and one of the upstream's.
    for (const route of ['/lander', '/lander-submit-bundle', '/relay-bundle'])
      t.match(await ask(deployment, `/${narrow.token}${route}`, '{}'), { status: 200 })
    await setFault(deployment.description.landerUrl, { status: 500, times: 1 })
    const send = `{"jsonrpc":"2.0","id":1,"method":"sendTransaction","params":["AAAA",{"encoding":"base64"}]}`
    t.match(await ask(deployment, `/${narrow.token}/lander`, send), { status: 500 })
    const { requests, errors } = await countOf(narrow)
    t.strictSame([requests - before.requests, errors - before.errors], [8, 7])
  })

  await t.test('nothing stays in flight after any end of a request', async t => {
    const path = `/${narrow.token}`
    const long = [JSON_LINE, 'Content-Length: 99999999999', ''].join('\r\n')
    const requests = [
      post(path, CALL, ['Content-Type: text/plain']),
      `POST ${path} HTTP/1.1\r\nHost: a\r\n${long}\r\n`,
      post(path, CALL, [JSON_LINE]).slice(0, -1),
      post(path, '', [JSON_LINE]),
      post(`${path}/lander`, '{}', ['Content-Type: text/plain']),
      post(`${path}/relay-bundle`, '{}', [JSON_LINE]),
      post(path, CALL, [JSON_LINE]) + post(path, '[', [JSON_LINE]).slice(0, -1),
    ]
    for (const bytes of requests)
      for (let nth = 0; nth < 3; nth++) {
        const { socket, until: replyUntil } = await connect(port)
        socket.write(bytes)
        await Promise.race([replyUntil(text => replyCount(text) > 0), sleep(50)])
        socket.destroy()
      }
    await until(
      'all have ended',
      () => readUtilisation(table, narrow.accessId).requestsInFlight === 0,
    )
    t.match(await ask(deployment, path), { status: 200 })
  })

  await t.test('the metrics name the limits', async t => {
    const page = await (await fetch(deployment.description.metricsUrl)).text()
    for (const reason of ['requestsPerSecondMax', 'requestsBurstMax'])
      t.match(page, new RegExp(`slotline_refusals_total\\{.*reason="${reason}"\\} [1-9]`), reason)
  })

  await t.test('requests in flight of a killed edge are released', async t => {
    const hanging: Connection[] = []
    for (let nth = 0; nth < 6; nth++) hanging.push(await hang(port, narrow.token))
    await until(
      'all six are in flight',
      () => readUtilisation(table, narrow.accessId).requestsInFlight === 6,
    )
    for (let nth = 0; nth < 8; nth++) {
      const { status, text } = await ask(deployment, `/${narrow.token}`)
      t.equal(status, 429)
      t.match(JSON.parse(text), { error: { data: { limit: 'requestsInFlightMax', max: 6 } } })
    }
    const ben = new DashboardClient(deployment.description.dashboardUrl)
    const [, person] = deployment.description.identity.users
    if (person === undefined) return
    await ben.signIn(person)
    const shown = await ben.call('GET', `/api/accesses/${narrow.accessId}/usage`)
    t.match(shown.json, { requestsInFlight: 6, sockets: 0, limits: { requestsInFlightMax: 6 } })
    const path = `/api/accesses/${rated.accessId}/networks/sandbox/locations/fra`
    const { json } = await ben.call('GET', `${path}/usage`)
    const { minutes } = json as { minutes: { requests: number }[] }
    t.equal(minutes.length, 1_440)
    t.equal(
      minutes.reduce((sum, { requests }) => sum + requests, 0),
      (await countOf(rated)).requests,
    )
    const gone = hanging.shift()
    gone?.socket.destroy()
    await until('one is gone', () => readUtilisation(table, narrow.accessId).requestsInFlight === 5)
    t.equal((await ask(deployment, `/${narrow.token}`)).status, 200)

    const [victim] = deployment.pidsOf('edge')
    const cut = Promise.race(hanging.map(({ closed }) => closed)).then(() => true)
    // Where all five are at the other edge, nothing of this one was in flight.
    if (victim !== undefined) process.kill(victim, 'SIGKILL')
    await until('it is back', () => deployment.pidsOf('edge').length === EDGES)
    await Promise.race([cut, sleep(500)])
    await until('only open requests count', () => {
      const open = hanging.filter(({ socket }) => !socket.destroyed).length
      return readUtilisation(table, narrow.accessId).requestsInFlight === open
    })
    for (const { socket } of hanging) socket.destroy()
    await until(
      'nothing counts',
      () => readUtilisation(table, narrow.accessId).requestsInFlight === 0,
    )
    const statuses = await flood(port, `/${narrow.token}`, { connections: 4, durationMs: 200 })
    t.strictSame([...statuses.keys()], [200])
  })

  await t.test('refused attempts are shown to the owner of the token', async t => {
    const elsewhere = { ...deployment, port: port + 2 }
    t.equal((await ask(elsewhere, `/${rated.token}`)).status, 401)
    await sleep(Math.max(0, endsAtMs - Date.now()) + 20)
    t.equal((await ask(deployment, `/${ending.token}`)).status, 403)
    const refusedOf = async (access: StoredAccess) => (await usage.ofScope(placeOf(access))).refused
    await until('they are counted', async () => (await refusedOf(ending)).length > 0)
    t.match(await refusedOf(rated), [{ address: '127.0.0.1', reason: 'location' }])
    const ended = await refusedOf(ending)
    t.match(ended, [{ address: '127.0.0.1', reason: 'ended' }])
    t.ok(Math.abs(Date.now() - (ended[0]?.atMs ?? 0)) < 5_000)
  })

  await t.test('counts survive a restart, requests in flight do not', async t => {
    const before = await countOf(rated)
    t.equal(await deployment.stop(), 0)
    const again = await start(t, dataDir)
    t.strictSame(await countOf(rated), before)
    t.equal((await ask(again, `/${rated.token}`)).status, 200)
    t.equal((await countOf(rated)).requests, before.requests + 1)
    t.strictSame(readUtilisation(openLimitTable(dataDir, SLOTS), rated.accessId), {
      requestsInFlight: 0,
      sockets: 0,
      subscriptions: 0,
      subscriptionsOfSocket: 0,
    })
    t.equal(await again.stop(), 0)
  })
})
