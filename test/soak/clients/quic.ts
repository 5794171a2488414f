// The published client of Lunar Lander against a service of two edges: what it is answered, how
// long it is away when an edge is replaced or killed, and that nothing succeeds after a revocation.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, stringify } from 'smol-toml'
import t, { type Test } from 'tap'
import { Agent, request } from 'undici'
import { childPids } from '../../fixtures/processes/deployment.js'
import { prepareServe, type Prepared } from '../../fixtures/processes/serve.js'
import { askAdmin } from '../../fixtures/dashboard/admin.js'
import { freePorts } from '../../fixtures/free-ports.js'
import {
  buildSenderClients,
  skipSenderClients,
  startSenderClients,
  type SenderResult,
} from '../../fixtures/clients/sender-clients.js'
import { openRawUpstream, type RawUpstream } from '../../fixtures/submission/raw-upstream.js'
import { ACCEPT, signatureOf } from '../../fixtures/submission/transactions.js'
import { FLOOR, tipping, TIPS } from '../../fixtures/sandbox/tipping.js'
import { until } from '../../fixtures/until.js'

type Quic = ReturnType<typeof startSenderClients>
type Asked = Pick<SenderResult, 'status' | 'error' | 'atMs'> & { readonly beganMs: number }

const one = (): Buffer => tipping([FLOOR, 0])

const prepare = async (t: Test, lander: RawUpstream) => {
  const port = await freePorts()
  const feed = { endpoint: 'http://127.0.0.1:1' }
  const upstream = { urls: [lander.url], credential: 'hml-soak', pingPath: '' }
  const prepared: Prepared = await prepareServe(
    t,
    { main: feed },
    {
      networks: [{ id: 'main', feed, lander: { upstream, tipAddresses: TIPS } }],
      locations: ['fra', 'nyc'].map((id, index) => ({
        id,
        name: id,
        listeners: [{ host: '127.0.0.1', port: port + index, quicPort: port + index }],
      })),
      processes: { edgeCount: 2 },
    },
    { limits: { requestsInFlightMax: 10_000, socketsMax: 1_000 } },
  )
  return { prepared, port, token: prepared.tokenOf('main', 'fra') }
}

/** Asks over several clients without a pause, until it is stopped. */
const pump = (quic: Quic, clients: readonly string[]) => {
  const asked: Asked[] = []
  let isStopped = false
  const runs = clients.map(async client => {
    while (!isStopped) {
      const beganMs = Date.now()
      asked.push({ beganMs, ...(await quic.ask(client, one())) })
    }
  })
  return {
    asked,
    stop: async () => {
      isStopped = true
      await Promise.all(runs)
    },
  }
}

/** The longest time of each of some clients in which nothing succeeded. */
const longestGap = (asked: readonly Asked[]): number => {
  const times = asked.filter(({ status }) => status === 200).map(({ atMs }) => atMs)
  const sorted = times.toSorted((a, b) => a - b)
  return Math.max(...sorted.map((at, index) => at - (sorted[index - 1] ?? at)))
}

const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? NaN

t.test('the published client over QUIC', { skip: skipSenderClients }, async t => {
  buildSenderClients(t)
  const lander = await openRawUpstream(t, ACCEPT)
  const { prepared, port, token } = await prepare(t, lander)
  const service = await prepared.start()
  const quic = startSenderClients(t)
  const endpoint = `127.0.0.1:${port}`
  const connect = async (name: string, with_ = token): Promise<void> => {
    t.equal((await quic.connect(name, endpoint, with_)).error, undefined)
  }
  const isAtLander = (transaction: Buffer): boolean =>
    lander.received.some(({ body }) => body.includes(transaction.toString('base64')))

  await t.test('transactions with and without an answer reach the lander', async t => {
    await connect('first')
    const [asked, sent] = [one(), one()]
    t.match(await quic.ask('first', asked), {
      status: 200,
      code: 'accepted',
      signature: signatureOf(asked),
    })
    t.equal((await quic.send('first', sent)).error, undefined)
    await until('both are there', () => isAtLander(asked) && isAtLander(sent))
    t.match(await quic.ask('first', asked), { status: 200, signature: signatureOf(asked) })
    for (const wrong of [Buffer.alloc(0), Buffer.of(1), asked.subarray(0, 99)])
      t.match(await quic.ask('first', wrong), {
        status: 400,
        code: 'invalid_payload',
        message: /^invalid transaction payload: /,
      })
    t.match(await quic.state('first'), { reconnects: 0, health: 'Healthy' })
  })

  await t.test('a client with another token gets nothing', async t => {
    await connect('stranger', prepared.tokenOf('main', 'nyc'))
    t.type((await quic.ask('stranger', one())).error, 'string')
    t.equal((await quic.connect('protected', endpoint, token, true)).error, undefined)
    t.type((await quic.ask('protected', one())).error, 'string')
    for (const name of ['stranger', 'protected']) await quic.close(name)
  })

  await t.test('latencies beside those of HTTP', async t => {
    const agent = new Agent({ connections: 1 })
    t.teardown(() => agent.destroy())
    const url = `http://${endpoint}/${token}/send`
    const headers = { 'content-type': 'application/octet-stream' }
    const [overQuic, overHttp]: [number[], number[]] = [[], []]
    for (let round = 0; round < 10; round++) {
      const { measured = [] } = await quic.measure('first', Array.from({ length: 50 }, one))
      for (const [status, micros] of measured) {
        t.equal(status, 200)
        overQuic.push(micros / 1_000)
      }
      for (const body of Array.from({ length: 50 }, one)) {
        const startMs = performance.now()
        const reply = await request(url, { method: 'POST', headers, body, dispatcher: agent })
        t.equal(await reply.body.text(), signatureOf(body))
        overHttp.push(performance.now() - startMs)
      }
    }
    for (const [name, values] of [
      ['QUIC', overQuic],
      ['HTTP', overHttp],
    ] as const)
      t.comment(
        `${name}: p50 ${percentile(values, 0.5).toFixed(2)} ms, p99 ${percentile(values, 0.99).toFixed(2)} ms`,
      )
  })

  const clients = Array.from({ length: 8 }, (_, index) => `client ${index}`)
  for (const name of clients) await connect(name)

  await t.test('a reload closes each connection once, and clients are back at once', async t => {
    const load = pump(quic, clients)
    await until('they ask', () => load.asked.length > 200)
    const config = parse(readFileSync(prepared.configFile, 'utf8'))
    const changed = { ...config, rpc: { readTimeoutMs: 29_000 } }
    writeFileSync(prepared.configFile, stringify(changed))
    service.supervisor.kill('SIGHUP')
    await until('the service is changed', () => service.output().includes('the service is changed'))
    const count = load.asked.length
    await until('they ask on', () => load.asked.length > count + 200)
    await load.stop()
    const failures = load.asked.filter(({ status }) => status !== 200)
    t.ok(failures.length <= 2 * clients.length, JSON.stringify(failures.slice(0, 3)))
    t.comment(`${failures.length} of ${load.asked.length} failed`)
    t.comment(`longest gap of all clients ${longestGap(load.asked).toFixed(0)} ms`)
  })

  await t.test('the clients of a killed edge are back', async t => {
    const load = pump(quic, clients)
    await until('they ask', () => load.asked.length > 200)
    const [edge = 0] = childPids(service.supervisor.pid ?? 0, 'slotline edge')
    const killedMs = Date.now()
    process.kill(edge, 'SIGKILL')
    const hasAll = async (): Promise<boolean> => {
      const states = await Promise.all(clients.map(name => quic.state(name)))
      return states.every(({ health }) => health === 'Healthy')
    }
    await until('all are back', async () => Date.now() > killedMs + 500 && (await hasAll()))
    const count = load.asked.length
    await until('they ask on', () => load.asked.length > count + 200)
    await load.stop()
    const failures = load.asked.filter(({ status }) => status !== 200)
    const lastMs = Math.max(killedMs, ...failures.map(({ atMs }) => atMs))
    t.comment(`${failures.length} failed, the last one ${(lastMs - killedMs).toFixed(0)} ms later`)
    t.ok(lastMs - killedMs < 10_000)
  })

  await t.test('nothing succeeds after a revocation has returned', async t => {
    const load = pump(quic, clients)
    await until('they ask', () => load.asked.length > 400)
    const adminToken = readFileSync(join(prepared.dataDir, 'admin.token'), 'utf8').trim()
    const target = { description: { dashboardUrl: prepared.dashboardUrl, adminToken } }
    const path = `/accesses/${prepared.accessId}/networks/main/locations/fra/token`
    const { status } = await askAdmin(target, 'DELETE', path)
    const revokedMs = Date.now()
    t.equal(status, 204)
    await until('they were refused', () => load.asked.at(-1)?.error !== undefined)
    await load.stop()
    const late = load.asked.filter(one => one.status === 200 && one.beganMs >= revokedMs)
    t.strictSame(late, [])
    const before = load.asked.filter(one => one.status === 200 && one.atMs > revokedMs)
    t.comment(`${before.length} answers were read after it, of ${load.asked.length}`)
  })
  t.equal(await service.stop(), 0)
})
