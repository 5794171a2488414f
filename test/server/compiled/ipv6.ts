// The limit of connections of an address, from several addresses of IPv6. Loopback has only one, so
// the test runs again in a network namespace of its own, where it may add others.
import { execFileSync, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { skipAbsent } from '../../fixtures/skip-absent.js'
import {
  connect,
  eventually,
  openTestServer,
  post,
  replyCount,
  type Connection,
} from '../../fixtures/server/server.js'

const INSIDE = 'SLOTLINE_TEST_NAMESPACE'
const SERVER = '2001:db8:0:1::1'
/** Addresses of one client: they share their first 64 bits. */
const CLIENT = ['2001:db8:0:2::1', '2001:db8:0:2::2', '2001:db8:0:2:ffff:ffff:ffff:ffff']
/** The next network: it differs in the last of these bits. */
const OTHER = '2001:db8:0:3::1'

/** Adds the addresses. The kernel adds their routes later, in a work queue of the whole system. */
const addAddresses = async (): Promise<void> => {
  const ip = (...args: string[]) => execFileSync('ip', args, { encoding: 'utf8' })
  ip('link', 'set', 'lo', 'up')
  const addresses = [SERVER, ...CLIENT, OTHER]
  for (const address of addresses)
    ip('-6', 'address', 'add', `${address}/128`, 'dev', 'lo', 'nodad')
  await eventually(() => {
    const routes = ip('-6', 'route', 'show', 'table', 'local').split(/\s+/)
    return addresses.every(address => routes.includes(address))
  })
}

/** Whether a request is answered on a connection that had none before. */
const isAnswered = async (connection: Connection): Promise<boolean> => {
  connection.socket.write(post('/t', 'x'))
  return replyCount(await connection.until(now => replyCount(now) > 0)) === 1
}

/** Runs in the namespace. */
const limitConnections = async (t: Test): Promise<void> => {
  await addAddresses()
  const { port, server } = await openTestServer(t, [{}], {
    listeners: [{ host: '::', port: 0 }],
    options: { connectionsPerAddressMax: 2 },
  })
  const from = (localAddress: string) => connect(port, { host: SERVER, localAddress })
  const other = await from(OTHER)
  t.ok(await isAnswered(other))
  const [first, second, third] = [
    await from(CLIENT[0] ?? ''),
    await from(CLIENT[1] ?? ''),
    await from(CLIENT[2] ?? ''),
  ]
  await first.closed
  t.ok(await isAnswered(second), 'the oldest of the network is closed, and no other one')
  t.ok(await isAnswered(third))
  t.equal(server.stats().connections, 3)
  t.ok(await isAnswered(await from(OTHER)), 'another network has its own limit')
  second.socket.destroy()
  await second.closed
  await eventually(() => server.stats().connections === 3)
  t.ok(await isAnswered(await from(CLIENT[0] ?? '')), 'a connection that closed makes room')
  for (const { socket } of [other, third]) socket.destroy()
}

/** Runs this file in a namespace; undefined where the system does not permit it. */
const runInside = (): ReturnType<typeof spawnSync> | undefined => {
  const namespace = ['--map-root-user', '--net']
  if (spawnSync('unshare', [...namespace, 'ip', 'link']).status !== 0) return undefined
  const script = [process.execPath, ...process.execArgv, fileURLToPath(import.meta.url)]
  const env = { ...process.env, [INSIDE]: '1' }
  return spawnSync('unshare', [...namespace, ...script], { env, encoding: 'utf8' })
}

if (process.env[INSIDE] === '1') {
  t.test('addresses of one network of 64 bits share their limit', limitConnections)
} else {
  t.test('the limit of connections in a namespace of its own', async t => {
    const inside = runInside()
    if (inside === undefined)
      return skipAbsent(t, 'needs network namespaces for users (unshare) and iproute2')
    t.equal(inside.status, 0, String(inside.stdout) + String(inside.stderr))
  })
}
