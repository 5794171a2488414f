import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { once } from 'node:events'
import t from 'tap'
import { startDeployment } from '../fixtures/processes/deployment.js'
import { until } from '../fixtures/until.js'

/** From SIGTERM to exit, whatever clients do. */
const EXIT_MS = 15_000
const LANES = 12

type Lane = { answerCount: number; isOver: boolean; failure: string | undefined }

/** Sends requests without a pause over one connection until the server closes it. */
const runLane = (url: string, body: string): Lane => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const lane: Lane = { answerCount: 0, isOver: false, failure: undefined }
  const end = (failure?: string): void => {
    lane.isOver = true
    lane.failure = failure
    agent.destroy()
  }
  const ask = (): void => {
    const headers = { 'content-type': 'application/json' }
    const sent = request(url, { method: 'POST', agent, headers }, response => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', chunk => (text += String(chunk)))
      response.on('error', error => end(`half an answer: ${error.message}`))
      response.on('end', () => {
        if (!response.complete || !text.endsWith('}') || !text.includes('"result"'))
          return end(`HTTP ${response.statusCode}: ${text.slice(0, 200)}`)
        lane.answerCount += 1
        if (response.headers.connection === 'close') end()
        else ask()
      })
    })
    sent.on('error', error => end(error.message))
    sent.end(body)
  }
  ask()
  return lane
}

/** What a load balancer gets: the status, or a refused connection. */
const healthOf = async (origin: string): Promise<number | 'refused'> => {
  const headers = { connection: 'close' }
  return fetch(`${origin}/health`, { headers }).then(
    response => response.status,
    () => 'refused',
  )
}

const openRaw = async (port: number) => {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.setEncoding('utf8')
  socket.on('data', chunk => (text += String(chunk)))
  socket.on('error', () => {})
  await once(socket, 'connect')
  return { socket, text: () => text }
}

t.test('SIGTERM under load loses no request', async t => {
  const args = ['--edges', '2', '--slot-ms', '100', '--traffic', '50']
  const { description, url, port, stop, output } = await startDeployment(t, { args })
  const { samples } = description
  const origin = `http://127.0.0.1:${port}`
  const page = [samples['program'], { encoding: 'base64', limit: 1_000 }]
  const calls: readonly [method: string, params: unknown][] = [
    ['getAccountInfo', [samples['mint'], { encoding: 'base64' }]],
    ['getLatestBlockhash', []],
    ['getProgramAccountsV2', page],
  ]
  const lanes = Array.from({ length: LANES }, (_, lane) => {
    const [method, params] = calls[lane % calls.length] ?? []
    return runLane(url, JSON.stringify({ jsonrpc: '2.0', id: lane, method, params }))
  })
  t.teardown(() => lanes.forEach(lane => (lane.isOver = true)))
  await until('every connection has its answers', () => lanes.every(lane => lane.answerCount > 5))
  t.equal(await healthOf(origin), 200)

  // Two clients within their bodies: one continues, the other does not.
  const body = '{"jsonrpc":"2.0","id":7,"method":"getLatestBlockhash"}'
  const head = [
    `POST ${new URL(url).pathname} HTTP/1.1`,
    'host: x',
    'content-type: application/json',
    `content-length: ${body.length}`,
    '',
    '',
  ].join('\r\n')
  const slow = await openRaw(port)
  const stuck = await openRaw(port)
  slow.socket.write(head + body.slice(0, 10))
  stuck.socket.write(head + body.slice(0, 10))

  const seen: (number | 'refused')[] = []
  const startMs = performance.now()
  const exit = stop()
  await until('the port is closed', async () => {
    seen.push(await healthOf(origin))
    return seen.at(-1) === 'refused'
  })
  t.equal(
    seen.find(status => status !== 200),
    503,
    `health answered ${[...new Set(seen)].join(', ')}`,
  )
  slow.socket.write(body.slice(10))
  await until('every busy connection was closed', () => lanes.every(lane => lane.isOver))
  t.strictSame(
    lanes.map(lane => lane.failure).filter(failure => failure !== undefined),
    [],
    `${lanes.reduce((sum, lane) => sum + lane.answerCount, 0)} answers, none lost`,
  )
  await until('the slow one is answered', () => slow.text().includes('blockhash'))
  t.match(slow.text(), /^HTTP\/1\.1 200 OK\r\n/)

  t.equal(await exit, 0, 'exit code')
  const exitMs = Math.round(performance.now() - startMs)
  t.comment(`ended after ${exitMs} ms, with a client that never finished its request`)
  t.ok(exitMs < EXIT_MS)
  t.notMatch(output(), /Error|error/, 'no error is logged')
})
