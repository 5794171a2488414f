import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { StatusQueries } from '../../../src/submission/relay/status-queries.js'

const METHOD = 'getBundleStatuses'
const ID = 'a'.repeat(64)

const open = ({ body = '{"jsonrpc":"2.0","result":{"value":[]},"id":1}', status = 200 } = {}) => {
  const asked: string[] = []
  const clock = { ms: 0 }
  const rate = { isOpen: true }
  const statuses = new StatusQueries(
    { statusSharedMs: 400, statusSharedMax: 2 },
    {
      engine: {
        askStatuses: async (method, bundleIds, id) => {
          await sleep(5)
          asked.push(`${method} ${bundleIds.join()} ${id}`)
          return {
            ...{ status, contentType: 'application/json', headers: undefined },
            body: Buffer.from(body),
          }
        },
      },
      queue: { enter: () => rate.isOpen },
      now: () => clock.ms,
    },
  )
  const ask = (id: string, bundleIds: readonly string[] = [ID], method = METHOD) =>
    statuses.ask({ method, bundleIds, id, accessId: 'access' })
  return { asked, clock, rate, ask }
}

t.test('equal queries at once are one request, and each has its own id', async t => {
  const { asked, ask } = open()
  const replies = await Promise.all([ask('1'), ask('2'), ask('"x"'), ask('null'), ask('1')])
  t.strictSame(
    replies.map(({ body }) => body.toString()),
    [
      '{"jsonrpc":"2.0","result":{"value":[]},"id":1}',
      '{"jsonrpc":"2.0","result":{"value":[]},"id":2}',
      '{"jsonrpc":"2.0","result":{"value":[]},"id":"x"}',
      '{"jsonrpc":"2.0","result":{"value":[]},"id":null}',
      '{"jsonrpc":"2.0","result":{"value":[]},"id":1}',
    ],
  )
  t.strictSame(asked, [`${METHOD} ${ID} 1`])
})

t.test('an answer is shared for a while, and only with equal queries', async t => {
  const { asked, clock, ask } = open()
  await ask('1')
  clock.ms = 399
  await ask('2')
  t.equal(asked.length, 1)
  await ask('1', [ID, 'b'.repeat(64)])
  await ask('1', [ID], 'getInflightBundleStatuses')
  t.equal(asked.length, 3)
  clock.ms = 800
  await ask('1')
  t.equal(asked.length, 4, 'it is over 400 ms old')
})

t.test('the oldest answer is evicted at the bound', async t => {
  const { asked, ask } = open()
  for (const name of ['a', 'b', 'c']) await ask('1', [name])
  await ask('1', ['c'])
  t.equal(asked.length, 3)
  await ask('1', ['a'])
  t.equal(asked.length, 4)
})

t.test('other answers of the engine are not kept, and shared as they are', async t => {
  for (const body of ['<html>', '[1]', '{"id":1}', 'null', '']) {
    const { asked, ask } = open({ body, status: 503 })
    const replies = await Promise.all([ask('1'), ask('2')])
    t.strictSame(
      replies.map(answer => answer.body.toString()),
      [body, body],
    )
    await ask('1')
    t.equal(asked.length, 2)
  }
})

t.test('a query without a token is refused, and asked the next time', async t => {
  const { asked, rate, ask } = open()
  rate.isOpen = false
  const refusals = await Promise.allSettled([ask('1'), ask('2')])
  for (const refusal of refusals) t.match(refusal, { status: 'rejected', reason: { kind: 'full' } })
  rate.isOpen = true
  t.match(await ask('2'), { status: 200 })
  t.strictSame(asked, [`${METHOD} ${ID} 2`])
})
