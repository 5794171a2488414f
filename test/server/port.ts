import { createSocket } from 'node:dgram'
import net from 'node:net'
import t from 'tap'
import { probePort } from '../../src/server/port.js'
import { openServer } from '../../src/server/server.js'
import { createLog } from '../../src/shared/log.js'
import { exchange, openTestServer, post, statusOf } from '../fixtures/server/server.js'

t.test('several listeners, and a port in use', async t => {
  const { server, port } = await openTestServer(t, [{}], {
    listeners: [
      { host: '127.0.0.1', port: 0 },
      { host: '127.0.0.1', port: 0 },
    ],
  })
  for (const each of server.ports) t.equal(statusOf(await exchange(each, post('/t', 'x'))), '200')
  t.not(server.ports[0], server.ports[1])
  await t.rejects(probePort({ host: '127.0.0.1', port, option: 'metrics.port' }), {
    message: `Cannot listen on 127.0.0.1:${port} (metrics.port): the port is in use`,
  })

  const plain = net.createServer()
  await new Promise<void>(resolve => plain.listen(0, '127.0.0.1', resolve))
  const address = plain.address()
  const taken = typeof address === 'object' && address !== null ? address.port : 0
  t.throws(
    () =>
      openServer({
        routes: [],
        listeners: [{ host: '127.0.0.1', port: taken }],
        log: createLog('test', () => {}),
        now: () => 0,
      }),
    { message: new RegExp(`^Cannot listen on 127\\.0\\.0\\.1:${taken}: [^\n]+$`) },
  )
  const datagrams = createSocket('udp4')
  await new Promise<void>(resolve => datagrams.bind(port, '127.0.0.1', resolve))
  await t.rejects(probePort({ host: '127.0.0.1', port, protocol: 'udp', option: 'a.quicPort' }), {
    message: `Cannot listen on UDP 127.0.0.1:${port} (a.quicPort): the port is in use`,
  })
  datagrams.close()
  await probePort({ host: '127.0.0.1', port, protocol: 'udp' })
  plain.close()
  server.close()
  await probePort({ host: '127.0.0.1', port })
})
