import bs58 from 'bs58'
import t, { type Test } from 'tap'
import { LIMITS } from '../fixtures/access/access.js'
import { KEY, openBoth, read } from '../fixtures/edge/direct.js'
import { applyAccounts } from '../fixtures/rpc/store.js'
import { connect, exchange, post, splitReplies } from '../fixtures/server/server.js'
import { openSocket } from '../fixtures/server/socket.js'

const JSON_LINES = ['Content-Type: application/json']
const batchOf = (count: number): string =>
  `[${Array.from({ length: count }, (_, id) => read(KEY, id)).join(',')}]`

const replyTo = async (port: number, path: string, body: string) => {
  const [reply] = splitReplies(await exchange(port, post(path, body, JSON_LINES)))
  const { head = '', body: text = '' } = reply ?? {}
  const retryAfter = /^retry-after: (.*)$/im.exec(head)?.[1]
  return { status: head.slice(9, 12), retryAfter, body: JSON.parse(text) }
}

t.test('a batch of more members than may be in flight runs within the limit', async t => {
  const { ordinary, client } = await openBoth(t, { ...LIMITS, requestsInFlightMax: 2 })
  const { status, body } = await replyTo(ordinary.port, `/${client.token}`, batchOf(20))
  t.equal(status, '200')
  t.equal(body.length, 20)
  t.ok(body.every((one: object) => 'result' in one))
  t.equal(ordinary.inFlight(client.accessId), 0)
})

t.test('a batch that can never pass is told what would, and not to wait', async t => {
  const limits = { ...LIMITS, requestsPerSecondMax: 10, requestsBurstMax: 50 }
  const { ordinary, client } = await openBoth(t, limits)
  const path = `/${client.token}`
  const { status, retryAfter, body } = await replyTo(ordinary.port, path, batchOf(60))
  t.equal(status, '429')
  const message = 'Too many requests: at most 50 calls in a batch'
  t.strictSame(body.error, { message, data: { limit: 'requestsBurstMax', max: 50 } })
  t.equal(retryAfter, undefined)
  const socket = await openSocket(ordinary.port, { path })
  socket.send(batchOf(60))
  const { id, error } = JSON.parse(await socket.next())
  t.equal(id, null, 'one error for the whole')
  const data = { limit: 'requestsBurstMax', max: 50 }
  t.strictSame(error, { code: -32005, message, data })
  socket.destroy()
  t.equal((await replyTo(ordinary.port, path, batchOf(48))).status, '200', 'what it was told')
})

for (const limit of ['requestsPerSecondMax', 'requestsInFlightMax'] as const)
  t.test(`${limit} of 0 admits nothing, however long a client waits`, async t => {
    const { ordinary, client } = await openBoth(t, { ...LIMITS, [limit]: 0 })
    const path = `/${client.token}`
    for (const sent of [read(KEY), batchOf(2)]) {
      const { status, retryAfter, body } = await replyTo(ordinary.port, path, sent)
      const message = `Too many requests: ${limit} of this access is 0`
      t.strictSame([status, retryAfter], ['429', undefined])
      t.strictSame(body.error, { message, data: { limit, max: 0 } })
    }
  })

/** A burst of 18 requests, and a read whose reply of 200 KiB counts as four. */
const openLarge = async (t: Test) => {
  const limits = { ...LIMITS, requestsPerSecondMax: 1, requestsBurstMax: 18 }
  const both = await openBoth(t, limits)
  const pubkey = bs58.encode(Buffer.alloc(32, 9))
  const data = [Buffer.alloc(150 * 1024).toString('base64'), 'base64'] as const
  const account = { lamports: 5, data, owner: KEY, executable: false, rentEpoch: 0 }
  applyAccounts(both.indexer, [{ pubkey, account }], 6, 5)
  const params = [pubkey, { encoding: 'base64' }]
  return {
    ...both,
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getAccountInfo', params }),
  }
}

t.test('each 64 KiB of a reply are a request, before JavaScript and within it', async t => {
  const { ordinary, direct, client, body } = await openLarge(t)
  const path = `/${client.token}`
  for (const { port } of [ordinary, direct]) {
    const statuses: string[] = []
    // 200 KiB are four requests: the fifth reply uses two that are not there yet.
    for (let nth = 0; nth < 5; nth++) statuses.push((await replyTo(port, path, body)).status)
    t.strictSame(statuses, ['200', '200', '200', '200', '200'])
    const { status, retryAfter } = await replyTo(port, path, read(KEY))
    t.equal(status, '429')
    t.ok(Number(retryAfter) >= 2 && Number(retryAfter) <= 3, `waits ${retryAfter} s for them`)
  }
  t.equal(ordinary.inFlight(client.accessId), 0)
})

t.test('messages of a WebSocket are charged in the same way', async t => {
  const { ordinary, direct, client, body } = await openLarge(t)
  for (const { port } of [ordinary, direct]) {
    const socket = await openSocket(port, { path: `/${client.token}` })
    const replies: unknown[] = []
    for (let nth = 0; nth < 6; nth++) {
      socket.send(body)
      replies.push(JSON.parse(await socket.next()))
    }
    t.match(replies[4], { result: {} })
    t.match(replies[5], { error: { code: -32005, data: { limit: 'requestsPerSecondMax' } } })
    socket.destroy()
  }
})

t.test('every member of a batch is charged, a refused batch as one request', async t => {
  const limits = { ...LIMITS, requestsPerSecondMax: 1, requestsBurstMax: 60 }
  const { ordinary, client } = await openBoth(t, limits)
  const statuses: string[] = []
  // 60 at first; 20 are left, of which the refused batch takes one; then 9. A few seconds change
  // nothing.
  for (const count of [40, 30, 10, 20])
    statuses.push((await replyTo(ordinary.port, `/${client.token}`, batchOf(count))).status)
  t.strictSame(statuses, ['200', '429', '200', '429'])
})

t.test('pipelined requests over the rate are refused one by one', async t => {
  const limits = { ...LIMITS, requestsPerSecondMax: 1, requestsBurstMax: 3 }
  const { ordinary, client } = await openBoth(t, limits)
  const { socket, until } = await connect(ordinary.port)
  socket.write(post(`/${client.token}`, read(KEY), JSON_LINES).repeat(100))
  const text = await until(now => splitReplies(now).length === 100)
  const statuses = splitReplies(text).map(({ head }) => head.slice(9, 12))
  t.strictSame(statuses.slice(0, 3), ['200', '200', '200'])
  t.ok(statuses.filter(status => status === '429').length > 90, statuses.join(' '))
  socket.destroy()
})
