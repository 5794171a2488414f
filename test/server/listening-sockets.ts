import { connect, createServer } from 'node:net'
import { once } from 'node:events'
import t from 'tap'
import { ListeningSockets } from '../../src/server/listening-sockets.js'
import { openServer } from '../../src/server/server.js'
import { createLog } from '../../src/shared/log.js'
import { freePorts } from '../fixtures/free-ports.js'

const HOST = '127.0.0.1'

const ping = async (port: number): Promise<string> => {
  const socket = connect(port, HOST)
  await once(socket, 'connect')
  socket.write('GET /ping HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
  const [reply] = await once(socket, 'data')
  socket.destroy()
  return String(reply)
}

const isRefused = (port: number): Promise<boolean> =>
  new Promise(resolve => {
    const socket = connect(port, HOST)
    socket.once('connect', () => (socket.destroy(), resolve(false)))
    socket.once('error', () => resolve(true))
  })

t.test('connections wait while no server accepts them', async t => {
  const address = { host: HOST, port: await freePorts(), count: 1 }
  const sockets = new ListeningSockets()
  await sockets.open([address])
  const open = (position: number) => {
    const { port } = address
    const copy = new ListeningSockets(sockets.descriptors).at([address], position)
    return openServer({
      routes: [],
      listeners: [{ host: HOST, port, descriptor: copy[`${HOST}:${port}`] }],
      log: createLog('test', () => {}),
      now: () => performance.now(),
    })
  }
  const waiting = ping(address.port)
  const server = open(0)
  t.strictSame(server.ports, [address.port])
  t.match(await waiting, /^HTTP\/1\.1 404 /)
  server.close()
  t.equal(await isRefused(address.port), true, 'this server had the only copy')
})

t.test('sockets are opened all or none, and closed', async t => {
  const other = createServer().listen(0, HOST)
  await once(other, 'listening')
  t.teardown(() => other.close())
  const taken = { host: HOST, port: (other.address() as { port: number }).port, count: 1 }
  const first = { host: HOST, port: await freePorts(), count: 2 }
  const second = { host: HOST, port: await freePorts(), count: 1 }
  const sockets = new ListeningSockets()
  await sockets.open([first])
  t.equal(sockets.descriptors[`${HOST}:${first.port}`]?.length, 2)
  await t.rejects(sockets.open([first, second, taken]), { message: /: the port is in use$/ })
  t.equal(await isRefused(second.port), true)
  const close = await sockets.open([first, second])
  t.equal(await isRefused(second.port), false)
  close()
  t.equal(await isRefused(second.port), true)
  t.equal(await isRefused(first.port), false)
  t.strictSame(sockets.at([first, second], 2), {})
  sockets.keep([])
  t.equal(await isRefused(first.port), true)
})

t.test('a UDP port has a socket for each slot, and packets reach that of their id', async t => {
  const address = { host: HOST, port: await freePorts(), protocol: 'udp' as const, count: 3 }
  const sockets = new ListeningSockets()
  await sockets.open([address])
  t.teardown(() => sockets.keep([]))
  const name = `udp ${HOST}:${address.port}`
  t.equal(sockets.descriptors[name]?.length, 3)
  t.strictSame(Object.keys(sockets.at([address], 2)), [name])
  t.strictSame(sockets.at([{ host: HOST, port: address.port }], 0), {}, 'TCP is another port')
  sockets.route({ serving: [0, 2], accepting: [2] })
  sockets.route({ serving: [], accepting: [] })
  await t.rejects(new ListeningSockets().open([address]), {
    message: /UDP .*: the port is in use$/,
  })
})
