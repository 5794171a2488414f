// What one access or many connections may take of an edge: descriptors, as the system limits them,
// and memory for bodies.
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { askAdmin, grantScope } from '../fixtures/dashboard/admin.js'
import { startDeployment, type Deployment } from '../fixtures/processes/deployment.js'
import {
  connect,
  post,
  replyCount,
  splitReplies,
  statusOf,
  type Connection,
} from '../fixtures/server/server.js'
import { openSocket } from '../fixtures/server/socket.js'
import { until } from '../fixtures/until.js'

const DESCRIPTORS_MAX = 400
const JSON_LINE = 'Content-Type: application/json'
const CALL = '{"jsonrpc":"2.0","id":1,"method":"getSlot"}'
const HEALTH = 'GET /health HTTP/1.1\r\nHost: a\r\n\r\n'
/** Clock ticks of `/proc`, in all systems that Node.js runs on. */
const TICK_MS = 10

/** Time of a processor that a process has taken. */
const cpuMsOf = (pid: number): number => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS
}

/** Sends a request; the reply, or '' where the connection is closed. */
const ask = async (connection: Connection, bytes: string): Promise<string> => {
  const before = replyCount(connection.received())
  connection.socket.write(bytes)
  const replies = splitReplies(await connection.until(now => replyCount(now) > before))
  const reply = replies.length > before ? replies.at(-1) : undefined
  return reply === undefined ? '' : `${statusOf(reply.head)} ${reply.body}`
}

/** Connections that the edge has closed because of a limit, by its metrics. */
const closedOf = async ({ description }: Deployment, limit: string): Promise<number> => {
  const page = await (await fetch(description.metricsUrl)).text()
  const name = `slotline_connections_closed_total{process="edge 0",limit="${limit}"} `
  const line = page.split('\n').find(one => one.startsWith(name))
  return Number(line?.slice(name.length))
}

/** The path of a token of a new access. */
const createPath = async (deployment: Deployment): Promise<string> => {
  const { tokenPath } = await grantScope(deployment, 'fra')
  const { body } = await askAdmin(deployment, 'POST', tokenPath)
  return `/${String(body['token'])}`
}

const start = async (t: Test) => {
  const deployment = await startDeployment(t, {
    args: ['--edges', '1', '--traffic', '0'],
    descriptorsMax: DESCRIPTORS_MAX,
  })
  const path = await createPath(deployment)
  const [edge = 0] = deployment.pidsOf('edge')
  const { port } = deployment
  const read = post(path, CALL, [JSON_LINE])
  const client = await connect(port)
  const socket = await openSocket(port, { path })
  t.match(await ask(client, read), /^200 \{"jsonrpc":"2.0","result":\d+,"id":1\}$/)
  /** What clients that were there before must see. */
  const checkClients = async (name: string): Promise<void> => {
    t.match(await ask(client, read), /^200 \{"jsonrpc":"2.0","result":\d+,"id":1\}$/, name)
    t.match(await ask(client, HEALTH), /^200 /, `${name}: health`)
    socket.send(CALL)
    t.match(await socket.next(), /"result":\d+/, `${name}: a WebSocket`)
  }
  return { deployment, edge, port, read, checkClients }
}

t.test('a thousand connections leave an edge its descriptors', async t => {
  const { deployment, edge, port, read, checkClients } = await start(t)
  t.match(deployment.output(), `"descriptorsMax":${DESCRIPTORS_MAX},"connectionsMax":100,`)
  const startedMs = performance.now()
  const startedCpuMs = cpuMsOf(edge)
  const silent: Connection[] = []
  t.teardown(() => silent.forEach(({ socket }) => socket.destroy()))
  for (let count = 0; count < 1_000; count += 50) {
    silent.push(...(await Promise.all(Array.from({ length: 50 }, () => connect(port)))))
    await checkClients(`${count + 50} connections`)
    const late = await connect(port)
    t.match(await ask(late, read), /^200 .*"result"/, 'a new client gets in')
    late.socket.destroy()
  }
  const open = readdirSync(`/proc/${edge}/fd`).length
  t.ok(open <= DESCRIPTORS_MAX / 2 + 100, `${open} descriptors are open`)
  await sleep(1_000)
  t.ok((await closedOf(deployment, 'total')) >= 900, 'those that were closed are counted')
  const share = (cpuMsOf(edge) - startedCpuMs) / (performance.now() - startedMs)
  t.ok(share < 0.7, `${share} of a processor, while a thousand connections opened`)
})

t.test('without a free descriptor new connections are closed at once', async t => {
  const { deployment, edge, port, read, checkClients } = await start(t)
  const open = new Set(readdirSync(`/proc/${edge}/fd`).map(Number))
  let free = 0
  while (open.has(free)) free++
  execFileSync('prlimit', ['--pid', String(edge), `--nofile=${free}:${DESCRIPTORS_MAX}`])
  const attempts = await Promise.all(Array.from({ length: 200 }, () => connect(port)))
  const closed = Promise.all(attempts.map(attempt => attempt.closed))
  t.equal(await Promise.race([closed.then(() => 'closed'), sleep(5_000, 'open')]), 'closed')
  const startedMs = performance.now()
  const startedCpuMs = cpuMsOf(edge)
  // One waits to be accepted at any time.
  while (performance.now() - startedMs < 2_000) {
    await checkClients('at the limit')
    const late = await connect(port)
    await late.closed
    await sleep(50)
  }
  const share = (cpuMsOf(edge) - startedCpuMs) / (performance.now() - startedMs)
  t.ok(share < 0.5, `${share} of a processor at the limit`)
  execFileSync('prlimit', ['--pid', String(edge), `--nofile=${DESCRIPTORS_MAX}:${DESCRIPTORS_MAX}`])
  t.ok((await closedOf(deployment, 'descriptors')) >= 200, 'those that were closed are counted')
  const late = await connect(port)
  t.match(await ask(late, read), /^200 .*"result"/, 'with free descriptors a new client gets in')
  late.socket.destroy()
})

t.test('32 slow bodies of one access do not refuse those of another', async t => {
  const deployment = await startDeployment(t, { args: ['--edges', '1', '--traffic', '0'] })
  const { port } = deployment
  const [flood, other] = [await createPath(deployment), await createPath(deployment)]
  const bytes = 8 * 1024 ** 2
  const head = post(flood, '', [JSON_LINE]).replace('Length: 0', `Length: ${bytes}`)
  const most = Buffer.alloc(bytes - 1_000, ' ')
  const slow = await Promise.all(Array.from({ length: 32 }, () => connect(port)))
  t.teardown(() => slow.forEach(({ socket }) => socket.destroy()))
  const refused = () => slow.filter(one => statusOf(one.received()) === '503').length
  for (const { socket } of slow) {
    socket.on('error', () => {})
    socket.write(head)
    socket.write(most)
  }
  await until('half of the bodies are refused', () => refused() >= 16)
  const trickle = setInterval(() => slow.forEach(({ socket }) => socket.write(' ')), 20)
  t.teardown(() => clearInterval(trickle))
  const address = `"${'1'.repeat(31)}2"`
  const addresses = Array.from({ length: 1024 ** 2 / 35 }, () => address)
  const read = `{"jsonrpc":"2.0","id":1,"method":"getMultipleAccounts","params":[[${addresses}]]}`
  t.ok(read.length > 1024 ** 2 - 35_000)
  for (let nth = 0; nth < 5; nth++) {
    const client = await connect(port)
    const reply = await ask(client, post(other, read, [JSON_LINE]))
    t.match(reply.slice(0, 40), /^200 \{"jsonrpc":"2.0","result":/)
    client.socket.destroy()
  }
  t.ok(refused() < 32, 'those of the access itself share what it may have')
})
