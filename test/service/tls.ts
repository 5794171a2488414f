import { createServer, type RequestListener } from 'node:http'
import { once } from 'node:events'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import t, { type Test } from 'tap'
import { Agent, request, WebSocket } from 'undici'
import { RELAY_ROUTES, type RelayRoute } from '../../src/submission/store/submission.js'
import { startSandboxChain } from '../../src/sandbox/sandbox-chain.js'
import { runToEnd } from '../fixtures/processes/deployment.js'
import { prepareServe } from '../fixtures/processes/serve.js'
import { makeCertificate } from '../fixtures/server/certificates.js'
import { accepted, acceptedResult, idOf } from '../fixtures/submission/relay-engine.js'
import { OPTIONS, sendBundle, TIPS, toBundle } from '../fixtures/submission/relay.js'
import { until } from '../fixtures/until.js'

const LANDER_TIPS = [
  'tr7c9YdFm5pTx8xVp8XMRPrAFGSND7xmumTqPPJchHe',
  'moon17L6BgxXRX5uHKudAmqVF96xia9h8ygcmG2sL3F',
]

const openUpstream = async (
  t: Test,
  answer: (...of: Parameters<RequestListener>) => void | Promise<void>,
): Promise<string> => {
  const server = createServer((incoming, outgoing) => void answer(incoming, outgoing))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const address = server.address()
  return `http://127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}`
}

/** A lander that answers each request with its body. */
const openLander = (t: Test): Promise<string> =>
  openUpstream(t, (incoming, outgoing) => void incoming.pipe(outgoing))

/** A bundle engine that accepts every bundle. */
const openEngine = (t: Test): Promise<string> =>
  openUpstream(t, async (incoming, outgoing) => {
    const parts = await incoming.toArray()
    outgoing.end(accepted(Buffer.concat(parts)))
  })

/** The section of a relay route. */
const relayOf = (route: RelayRoute, engine: string) => ({
  upstream: { urls: [engine] },
  serviceTipAddresses: TIPS[route].service,
  engineTipAddresses: TIPS[route].engine,
  requestsPerSecondMax: 1_000,
  requestsBurstMax: 1_000,
  tipCheckMs: 0,
})

t.test('a service whose listeners speak TLS', async t => {
  const chain = await startSandboxChain({ seed: 'tls', slotMs: 0 })
  t.teardown(() => chain.close())
  // Not the folder of the test, which that of the service is.
  const dir = mkdtempSync(join(tmpdir(), 'slotline-tls-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  const hosts = ['localhost', 'one.example']
  const files = makeCertificate(dir, 'own', { hosts })
  const renewed = makeCertificate(dir, 'renewed', { hosts, days: 10 })
  const feed = { endpoint: chain.geyserUrl, startSlot: 1 }
  const lander = {
    upstream: { urls: [await openLander(t)] },
    tipAddresses: [LANDER_TIPS[0]],
    serviceTipAddresses: [LANDER_TIPS[1]],
  }
  const engine = await openEngine(t)
  const relay = relayOf('/relay', engine)
  const relayBundle = relayOf('/relay-bundle', engine)
  const networks = [{ id: 'one', feed, lander, relay, relayBundle }]
  const sections = { processes: { edgeCount: 1 }, networks }
  const prepared = await prepareServe(t, { one: feed }, sections, { tls: files })
  const service = await prepared.start()
  const url = prepared.urlOf('one').replace('127.0.0.1', 'localhost')
  const ca = [files, renewed].map(({ certFile }) => readFileSync(certFile))
  const dispatcher = new Agent({ connect: { ca } })
  t.teardown(() => dispatcher.close())
  const send = async (path: string, body: string): Promise<string> => {
    const headers = { 'content-type': 'application/json' }
    const reply = await request(url + path, { method: 'POST', headers, body, dispatcher })
    return reply.body.text()
  }
  const call = (method: string, params: unknown): string =>
    JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const read = (): Promise<string> =>
    send('', call('getAccountInfo', [chain.samples.wallet, { encoding: 'base64' }]))
  await until('an account is read', async () => (await read()).includes('"lamports"'))
  const submission = call('sendTransaction', ['AAAA', { encoding: 'base64' }])
  t.equal(await send('/lander', submission), submission, 'the lander answers')

  const socket = new WebSocket(url.replace('https', 'wss'), { dispatcher })
  await once(socket, 'open')
  const next = async (): Promise<unknown> => {
    const [{ data }] = (await once(socket, 'message')) as [{ data: string }]
    return JSON.parse(data)
  }
  for (const route of RELAY_ROUTES) {
    const http = toBundle(route, 'by HTTP')
    const sent = await send(route, sendBundle(route, http))
    const resultOf = (texts: readonly string[]): unknown =>
      acceptedResult(Buffer.from(sendBundle(route, texts)))
    t.strictSame(JSON.parse(sent), { jsonrpc: '2.0', id: 1, result: resultOf(http) }, route)
    const messages = toBundle(route, 'by WebSocket')
    socket.send(call(`${route.slice(1)}.sendBundle`, [messages, OPTIONS[route]]))
    const headers = { 'x-bundle-id': idOf(messages), 'x-relay-submission-id': String }
    t.match(await next(), { id: 1, result: resultOf(messages), headers }, `${route} by WebSocket`)
  }

  socket.send(call('slotSubscribe', []))
  t.match(await next(), { result: Number, id: 1 })
  const notified = next()
  chain.chain.tick()
  t.match(await notified, { method: 'slotNotification', params: { result: { slot: Number } } })

  const metric = async (name: string): Promise<number> => {
    const page = await (await fetch(prepared.metricsUrl)).text()
    return Number(
      RegExp(`^slotline_listener_certificate_${name}\\{.*\\} (\\S+)$`, 'm').exec(page)?.[1],
    )
  }
  const daysLeft = async (): Promise<number> =>
    (await metric('end_seconds')) / 86_400 - Date.now() / 86_400_000
  t.ok(Math.abs((await daysLeft()) - 90) < 2)

  const changedAt = performance.now()
  copyFileSync(renewed.certFile, files.certFile)
  copyFileSync(renewed.keyFile, files.keyFile)
  const endOf = async (): Promise<number> => {
    const client = connectTls({ port: prepared.portOf('fra'), rejectUnauthorized: false })
    await once(client, 'secureConnect')
    const { valid_to } = client.getPeerCertificate()
    client.destroy()
    return (Date.parse(valid_to) - Date.now()) / 86_400_000
  }
  await until('the new certificate is used', async () => (await endOf()) < 11)
  const tookMs = performance.now() - changedAt
  t.ok(tookMs < 10_000, `used after ${tookMs} ms`)
  await until('the metric tells its end', async () => (await daysLeft()) < 11)
  const later = next()
  chain.chain.tick()
  t.match(await later, { method: 'slotNotification' }, 'the WebSocket of before is still open')

  writeFileSync(files.certFile, 'no certificate')
  await until('a bad one is refused', async () => (await metric('refused')) === 1)
  t.match(service.output(), 'a new certificate cannot be used')
  t.ok((await endOf()) < 11, 'the one of before still serves')
  t.match(await read(), '"lamports"')
  t.notMatch(service.output(), 'PRIVATE KEY')

  socket.close()
  t.equal(await service.stop(), 0)
  const refused = await runToEnd(t, ['serve', '--config', prepared.configFile])
  t.equal(refused.code, 1)
  t.match(
    refused.output,
    /locations\[0\]\.listeners\[0\]\.tls: \S+own\.pem is no certificate in PEM/,
  )
})
