import t from 'tap'
import type { Connection } from '../../../src/shared/socket.js'
import { WIDE_LIMITS } from '../../fixtures/access/access.js'
import { GRANT, openSockets } from '../../fixtures/edge/sockets.js'
import { eventually } from '../../fixtures/server/server.js'
import type { SocketClient } from '../../fixtures/server/socket.js'

/** A connection with this number of subscriptions. */
const connectionOf = (size: number): Connection => ({
  size,
  call: () => Buffer.from('7'),
  onDrain() {},
  afterReply() {},
  close() {},
})

t.test('sockets over limits that have become smaller are closed, the newest first', async t => {
  let limits = WIDE_LIMITS
  const counts = [1, 4, 1, 1]
  const { connect, sockets, world, load } = await openSockets(t, {
    methods: { now: () => Buffer.from('true') },
    authenticate: () => ({ ...GRANT, limits }),
    connect: () => connectionOf(counts.shift() ?? 0),
  })
  const clients: SocketClient[] = []
  for (let count = 0; count < 4; count++) {
    const client = await connect()
    await client.call('slotSubscribe')
    clients.push(client)
  }
  const [first, second, third, fourth] = clients
  const change = (smaller: Partial<typeof WIDE_LIMITS>): void => {
    limits = { ...limits, ...smaller }
    world.version++
    sockets.revalidateAll()
  }
  const over = { code: 1013, reason: 'over a limit' }
  change({ requestsPerSecondMax: 10 })
  t.equal(load().sockets, 4, 'another limit closes none')
  change({ subscriptionsPerSocketMax: 3 })
  t.strictSame(await second?.closed, over, 'the one with more subscriptions')
  await eventually(() => load().sockets === 3)
  change({ socketsMax: 2 })
  t.strictSame(await fourth?.closed, over, 'the newest')
  await eventually(() => load().sockets === 2)
  for (const client of [first, third]) t.match(await client?.call('now'), { result: true })
  await t.rejects(connect(), { message: 'HTTP/1.1 429 Too Many Requests' })
  change({ socketsMax: 3 })
  t.match(await (await connect()).call('now'), { result: true })
})
