// What machines of a cluster read of each other, with the certificates of docs/cluster.md.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { request } from 'node:https'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import * as v from 'valibot'
import type { Identity } from '../../../src/cluster/etcd/client.js'
import type { KnownMachine } from '../../../src/cluster/machine-directory.js'
import { defaults } from '../../../src/cluster/options.js'
import { PeerClient } from '../../../src/cluster/peers/peer-client.js'
import { openPeerServer, type PeerRoute } from '../../../src/cluster/peers/peer-server.js'
import { createLog } from '../../../src/shared/log.js'
import { makeCertificates } from '../../fixtures/cluster/etcd.js'
import { latencyMax } from '../../fixtures/soak.js'
import { until } from '../../fixtures/until.js'

const dir = t.testdir()
makeCertificates(dir)
const identityOf = (name: string, folder = dir): Identity => ({
  ca: readFileSync(join(folder, 'ca.pem')),
  cert: readFileSync(join(folder, `${name}.pem`)),
  key: readFileSync(join(folder, `${name}.key`)),
})

const NAMED = v.object({ name: v.string() })
const ROUTES: readonly PeerRoute[] = [
  { path: '/things/:thing', answer: ({ thing }) => ({ name: thing }) },
  { path: '/none', answer: () => undefined },
  { path: '/broken', answer: () => Promise.reject(new Error('broken')) },
  { path: '/long', answer: () => ({ name: 'x'.repeat(100_000) }) },
]

const openServer = async (
  t: Test,
  name: string,
  { machines = ['fra-1', 'fra-2', 'nyc-1'], connections = 16 } = {},
) => {
  const lines: string[] = []
  const server = await openPeerServer({
    streams: [],
    host: '127.0.0.1',
    port: 0,
    identity: identityOf(name),
    options: { peerConnectionsMax: connections, peerMs: 300 },
    isMachine: caller => machines.includes(caller),
    routes: ROUTES,
    log: createLog('peers', line => lines.push(line)),
  })
  t.teardown(() => server.close())
  return { url: `https://127.0.0.1:${server.port}`, port: server.port, lines, close: server.close }
}

/** On a busy machine a handshake can take longer than the default. */
const PEER_MS = 10_000

type Listed = Partial<Pick<KnownMachine, 'isUnreachable'>> & { readonly url?: string | undefined }

const openClient = (
  t: Test,
  machines: Readonly<Record<string, Listed>>,
  { options = {}, calls = [] as string[] } = {},
): PeerClient => {
  const list = (): readonly KnownMachine[] =>
    Object.entries(machines).map(([id, { url, isUnreachable = false }]) => ({
      id,
      location: id.slice(0, 3),
      beat: { instance: 'i', applied: 1, peerUrl: url },
      beatSeenMs: 1,
      isUnreachable,
    }))
  const client = new PeerClient({
    identity: identityOf('fra-1'),
    machine: 'fra-1',
    directory: { list },
    options: { ...defaults, peerMs: PEER_MS, ...options },
    onCall: (machine, outcome) => void calls.push(`${machine} ${outcome}`),
  })
  t.teardown(() => client.close())
  return client
}

t.test('a machine reads of the others at some locations, and names the missing', async t => {
  const [near, far] = [await openServer(t, 'fra-2'), await openServer(t, 'nyc-1')]
  const calls: string[] = []
  const client = openClient(
    t,
    {
      'fra-1': { url: near.url },
      'fra-2': { url: near.url },
      'fra-3': { url: undefined },
      'fra-4': { url: near.url, isUnreachable: true },
      'fra-5': { url: near.url },
      'nyc-1': { url: far.url },
    },
    { calls },
  )
  t.strictSame(
    await client.read(['fra', 'nyc'], '/things/a_B-1', NAMED),
    { answers: [{ name: 'a_B-1' }, { name: 'a_B-1' }], missing: ['fra-3', 'fra-4', 'fra-5'] },
    'itself is not called, nor a silent one; what answers as another machine is no answer',
  )
  t.strictSame(calls.toSorted(), [
    'fra-2 answered',
    'fra-3 missing',
    'fra-4 missing',
    'fra-5 missing',
    'nyc-1 answered',
  ])
  t.strictSame(await client.read(['nyc'], '/things/a', NAMED), {
    answers: [{ name: 'a' }],
    missing: [],
  })
  for (const path of ['/none', '/broken', '/', '/things/a%20b', '/things/a?x=1', '/things/'])
    t.strictSame(await client.read(['nyc'], path, NAMED), { answers: [], missing: ['nyc-1'] }, path)
  t.match(far.lines.join(''), /"msg":"a call of another machine failed"/)
  const other = v.object({ title: v.string() })
  t.match(await client.read(['nyc'], '/things/a', other), { missing: ['nyc-1'] })
  t.strictSame(await client.find('nyc', '/things/a', NAMED), { name: 'a' })
  t.equal(await client.find('nyc', '/none', NAMED), undefined)
  t.equal(await client.find('ams', '/things/a', NAMED), undefined)
})

t.test('a machine that hangs, or answers too much, is missing in time', async t => {
  const sockets: Socket[] = []
  const silent = createServer(socket => sockets.push(socket)).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const { port } = silent.address() as AddressInfo
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    silent.close()
  })
  const client = openClient(
    t,
    { 'fra-2': { url: `https://127.0.0.1:${port}` } },
    { options: { peerMs: 200, peerCallsMax: 2 } },
  )
  const startedMs = performance.now()
  const all = await Promise.all([1, 2, 3, 4].map(() => client.read(['fra'], '/things/a', NAMED)))
  const tookMs = performance.now() - startedMs
  t.ok(tookMs >= 190 && tookMs < latencyMax(1_000), `${tookMs.toFixed(0)} ms`)
  for (const one of all) t.strictSame(one, { answers: [], missing: ['fra-2'] })
  t.equal(sockets.length, 2, 'no more calls than the bound')

  const { url } = await openServer(t, 'nyc-1')
  const other = openClient(t, { 'nyc-1': { url } }, { options: { peerAnswerBytesMax: 50_000 } })
  t.strictSame(await other.read(['nyc'], '/long', NAMED), { answers: [], missing: ['nyc-1'] })
  t.match(await other.read(['nyc'], '/things/a', NAMED), { missing: [] })
})

/** Status of a call; the code of the error where there was none. */
const call = (
  port: number,
  identity: object,
  { method = 'GET', body = '' } = {},
): Promise<number | string> =>
  new Promise(resolve => {
    const sent = request(
      {
        host: '127.0.0.1',
        port,
        path: '/things/a',
        method,
        headers: { 'content-length': body.length },
        rejectUnauthorized: false,
        ...identity,
      },
      response => {
        response.resume()
        response.on('end', () => resolve(response.statusCode ?? 0))
      },
    )
    sent.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    sent.end(body)
  })

t.test('only machines of the cluster are answered', async t => {
  const machines = ['fra-1', 'fra-2']
  const { port } = await openServer(t, 'fra-2', { machines })
  t.equal(await call(port, identityOf('fra-1')), 200)
  t.equal(await call(port, identityOf('nyc-1')), 403, 'not a machine, or removed')
  t.equal(await call(port, identityOf('root')), 403, 'the operator')
  t.equal(await call(port, identityOf('etcd')), 403, 'a member of etcd')
  t.not(await call(port, {}), 200, 'no certificate')
  const foreign = t.testdir()
  makeCertificates(foreign)
  t.not(await call(port, identityOf('fra-1', foreign)), 200, 'of another authority')
  t.equal(await call(port, identityOf('fra-1'), { method: 'POST', body: '{}' }), 405)
  t.equal(await call(port, identityOf('fra-1'), { body: 'x' }), 405, 'no call has a body')

  const client = openClient(t, { 'fra-2': { url: `https://127.0.0.1:${port}` } })
  t.match(await client.read(['fra'], '/things/a', NAMED), { missing: [] })
  machines.shift()
  t.match(
    await client.read(['fra'], '/things/a', NAMED),
    { missing: ['fra-2'] },
    'a machine that was removed has its connection still',
  )
  t.end()
})

t.test('connections are bounded', async t => {
  const { port } = await openServer(t, 'fra-2', { connections: 2 })
  const open = (): Promise<Socket> =>
    new Promise(resolve => {
      const socket = connectTls({ port, rejectUnauthorized: false, ...identityOf('fra-1') }, () =>
        resolve(socket),
      )
      t.teardown(() => socket.destroy())
    })
  const first = await open()
  await open()
  const refused = connect({ port, host: '127.0.0.1' })
  await new Promise(resolve => refused.once('close', resolve))
  t.equal(refused.bytesRead, 0, 'a third one is closed without an answer')
  first.destroy()
  await new Promise(resolve => first.once('close', resolve))
  const next = await open()
  t.notOk(next.destroyed, 'one that closed makes room')
})

t.test('those who never finish a handshake keep no machine out', async t => {
  const server = await openServer(t, 'fra-2', { connections: 8 })
  const attackers = new Set<Socket>()
  let closed = 0
  const attack = (): void => {
    const socket = connect({ port: server.port, host: '127.0.0.1' })
    attackers.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => {
      closed++
      attackers.delete(socket)
    })
  }
  for (let count = 0; count < 40; count++) attack()
  await until('the oldest are closed', () => closed >= 36)
  const client = openClient(t, { 'fra-2': { url: server.url } })
  const { answers } = await client.read(['fra'], '/things/a', NAMED)
  t.strictSame(answers, [{ name: 'a' }])
  for (let count = 0; count < 40; count++) attack()
  await until('the next ones are closed', () => closed >= 76)
  t.strictSame((await client.read(['fra'], '/things/b', NAMED)).answers, [{ name: 'b' }])
  t.equal(attackers.size, 4, 'the second call uses the connection of the first one')
  for (const socket of attackers) socket.destroy()
})
