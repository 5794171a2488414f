// Messages played through two locations with the same store and tokens: one answers canonical point
// reads before JavaScript, one does not. Their replies must not differ.
import fc from 'fast-check'
import t from 'tap'
import { LIMITS } from '../../fixtures/access/access.js'
import { ACCOUNT, agree, KEY, MISSING, openBoth, read } from '../../fixtures/edge/direct.js'
import { applyAccounts } from '../../fixtures/rpc/store.js'
import { openSocket, type SocketClient } from '../../fixtures/server/socket.js'

const LAST = '{"jsonrpc":"2.0","id":"last","method":"nothing"}'

const withoutTimes = (reply: string): string => reply.replace(/"retryAfterMs":\d+/g, 'later')

/** Sends messages; returns all replies before that to a last one, which JavaScript answers. */
const play = async (client: SocketClient, messages: readonly string[]): Promise<string[]> => {
  for (const message of [...messages, LAST]) client.send(message)
  const replies: string[] = []
  for (;;) {
    const reply = await client.next()
    if (reply.includes('"id":"last"')) return replies.map(withoutTimes)
    replies.push(reply)
  }
}

const MESSAGES = [
  read(KEY),
  read(MISSING, 'x'),
  read(KEY, null),
  '{"jsonrpc":"2.0","id":2,"method":"getLatestBlockhash"}',
  `{"jsonrpc":"2.0","id":3,"method":"getMultipleAccounts","params":[["${KEY}","${MISSING}"]]}`,
  `{"jsonrpc":"2.0","id":4,"method":"getTokenSupply","params":["${KEY}"]}`,
  '{"jsonrpc":"2.0","method":"ping"}',
  '',
  'x',
  read('not a key'),
  `[${read(KEY)},${read(KEY, 2)}]`,
  `{"jsonrpc":"2.0","id":5,"method":"getBalance","params":["${KEY}"]}`,
  '{"jsonrpc":"2.0","method":"getLatestBlockhash"}',
]

const openSockets = async ({ direct, ordinary, client }: Awaited<ReturnType<typeof openBoth>>) => {
  const path = `/${client.token}`
  return {
    one: await openSocket(direct.port, { path }),
    other: await openSocket(ordinary.port, { path }),
  }
}

t.test('both ways answer messages with the same bytes, counts and limits', async t => {
  const both = await openBoth(t)
  const { one, other } = await openSockets(both)
  const canonical = fc.constantFrom(...MESSAGES.slice(0, 6))
  const messages = fc.array(
    fc.oneof({ weight: 3, arbitrary: canonical }, fc.constantFrom(...MESSAGES)),
    { minLength: 1, maxLength: 8 },
  )
  await fc.assert(
    fc.asyncProperty(messages, async sent => {
      const replies = [await play(one, sent), await play(other, sent)]
      t.strictSame(replies[0], replies[1], JSON.stringify(sent))
    }),
    { numRuns: 200 },
  )
  await agree(t, both)
  const { direct, ordinary } = both
  t.equal(direct.server.stats().messagesCount, ordinary.server.stats().messagesCount)
  const directCount = ordinary.handledCount() - direct.handledCount()
  t.ok(directCount >= 200, `${directCount} were answered before JavaScript`)
  one.destroy()
  other.destroy()
})

t.test('messages over the limits are refused the same way', async t => {
  const both = await openBoth(t, { ...LIMITS, requestsPerSecondMax: 1, requestsBurstMax: 5 })
  const { one, other } = await openSockets(both)
  const sent = Array.from({ length: 12 }, (_, index) => read(KEY, index))
  const replies = [await play(one, sent), await play(other, sent)]
  t.strictSame(replies[0], replies[1])
  t.equal(replies[0]?.filter(reply => reply.includes('"result"')).length, 5)
  await agree(t, both)
  one.destroy()
  other.destroy()
})

t.test('what was decided for messages ends at once', async t => {
  const { direct, control, client, indexer } = await openBoth(t)
  const socket = await openSocket(direct.port, { path: `/${client.token}` })
  const isDirect = async (expected = '"lamports":5'): Promise<boolean> => {
    const before = direct.handledCount()
    socket.send(read(KEY))
    t.match(await socket.next(), expected)
    return direct.handledCount() === before
  }
  t.notOk(await isDirect(), 'the first message is admitted by JavaScript')
  t.ok(await isDirect())
  direct.raiseVersion()
  t.notOk(await isDirect(), 'a change of accesses is decided anew')
  t.ok(await isDirect())
  applyAccounts(indexer, [{ ...ACCOUNT, account: { ...ACCOUNT.account, lamports: 6 } }], 6)
  t.ok(await isDirect('"lamports":6'), 'the newest block')
  await control.tokenManager.revoke(client.scope)
  direct.raiseVersion()
  socket.send(read(KEY))
  t.match(await socket.closed, { code: 1008 }, 'a revoked token')
})

t.test('a closing socket answers nothing more', async t => {
  const { direct, client } = await openBoth(t)
  const socket = await openSocket(direct.port, { path: `/${client.token}` })
  for (const id of [1, 2]) {
    socket.send(read(KEY, id))
    t.match(await socket.next(), `"id":${id}`)
  }
  socket.send(' '.repeat(10_001))
  socket.send(read(KEY, 3))
  t.match(await socket.closed, { code: 1009 })
  t.strictSame(socket.messages.length, 2)
})

t.test('a client that does not read is left to JavaScript', async t => {
  const { direct, client } = await openBoth(t)
  const socket = await openSocket(direct.port, { path: `/${client.token}` })
  socket.send(read(KEY, 0))
  await socket.next()
  socket.socket.pause()
  const count = 40_000
  for (let id = 1; id <= count; id++) socket.send(read(KEY, id))
  await new Promise(resolve => setTimeout(resolve, 200))
  socket.socket.resume()
  for (let id = 1; id <= count; id++) {
    const reply = await socket.next()
    if (!reply.endsWith(`"id":${id}}`)) return t.fail(`${id}: ${reply}`)
  }
  t.pass('all replies in their order')
  socket.destroy()
})

t.test('past the lease sockets are closed, and none is opened', async t => {
  const { direct, ordinary, client } = await openBoth(t)
  for (const location of [direct, ordinary]) {
    const open = () => openSocket(location.port, { path: `/${client.token}` })
    const [asking, silent] = [await open(), await open()]
    for (const id of [1, 2]) {
      asking.send(read(KEY, id))
      t.match(await asking.next(), `"id":${id}`)
    }
    location.setLeaseEnd(0)
    asking.send(read(KEY, 3))
    t.match(await asking.closed, { code: 1012, reason: 'lease expired' })
    t.equal(asking.messages.length, 2)
    location.revalidateSockets()
    t.match(await silent.closed, { code: 1012, reason: 'lease expired' })
    await t.rejects(open(), /503/)
    location.setLeaseEnd(Infinity)
    const again = await open()
    again.send(read(KEY, 4))
    t.match(await again.next(), '"id":4')
    again.destroy()
  }
})
