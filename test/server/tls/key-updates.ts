// Clients that change the keys of TLS 1.3, by the command `K` of openssl, which also requests new
// keys of the server.
import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { closedConnections } from '../../../src/server/compiled/closed.js'
import { makeCertificate } from '../../fixtures/server/certificates.js'
import { openTestServer, post, text } from '../../fixtures/server/server.js'
import { until } from '../../fixtures/until.js'

/** Changes of both keys in a row for which a client is not closed. */
const MAX = 32
/** How often to look whether openssl has taken a command. */
const LOOK_MS = 2

const open = async (t: Test) => {
  const { port, server } = await openTestServer(t, [{ handle: () => text('hello') }], {
    listeners: [{ host: '127.0.0.1', port: 0, tls: makeCertificate(t.testdir(), 'own') }],
  })
  const client = spawn('openssl', ['s_client', '-connect', `127.0.0.1:${port}`, '-tls1_3'])
  t.teardown(() => client.kill('SIGKILL'))
  let received = ''
  client.stdout.on('data', chunk => (received += String(chunk)))
  client.stderr.on('data', chunk => (received += String(chunk)))
  client.stdin.on('error', () => {})
  await until('the handshake is done', () => received.includes('Verify return code'))
  let isEnded = false
  client.once('close', () => (isEnded = true))
  const updates = (): number => received.split('KEYUPDATE').length - 1
  // openssl takes a command only where it begins what it reads at once, and drops what follows.
  const updateKeys = async (count: number): Promise<void> => {
    for (let sent = 0; sent < count && !isEnded; sent++) {
      const before = updates()
      client.stdin.write('K\n')
      while (updates() === before && !isEnded) await sleep(LOOK_MS)
    }
  }
  const answers = (): number => received.split('hello').length - 1
  return { server, client, updateKeys, answers, received: () => received }
}

t.test('keys are changed as often as there is data between', async t => {
  const { client, updateKeys, answers, server } = await open(t)
  for (let round = 1; round <= 3; round++) {
    await updateKeys(MAX - 8)
    client.stdin.write(post('/t', '1'))
    await until(`answer ${round}`, () => answers() === round)
  }
  t.equal(server.stats().connections, 1)
})

t.test('a client that only changes keys is closed', async t => {
  const { updateKeys, server, received } = await open(t)
  await updateKeys(MAX * 2)
  await until('it is closed', () => server.stats().connections === 0)
  t.equal(closedConnections().records, 1)
  t.match(received(), /KEYUPDATE/i)
})
