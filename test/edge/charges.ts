import t from 'tap'
import { LIMITS } from '../fixtures/access/access.js'
import { KEY, openBoth, read } from '../fixtures/edge/direct.js'
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

t.test('a batch that can never pass is not asked to try again in a second', async t => {
  const limits = { ...LIMITS, requestsPerSecondMax: 10, requestsBurstMax: 50 }
  const { ordinary, client } = await openBoth(t, limits)
  const path = `/${client.token}`
  const { status, retryAfter, body } = await replyTo(ordinary.port, path, batchOf(60))
  t.equal(status, '429')
  t.match(body.error.data, { limit: 'requestsBurstMax', max: 50 })
  t.equal(retryAfter, '3600')
  const socket = await openSocket(ordinary.port, { path })
  socket.send(batchOf(60))
  const { id, error } = JSON.parse(await socket.next())
  t.equal(id, null, 'one error for the whole')
  t.match(error, { code: -32005, data: { limit: 'requestsBurstMax', max: 50 } })
  socket.destroy()
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
