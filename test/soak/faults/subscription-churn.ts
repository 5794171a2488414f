import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import bs58 from 'bs58'
import t from 'tap'
import { startDeployment } from '../../fixtures/processes/deployment.js'
import { openSubscriber, toMembers, type Subscriber } from '../../fixtures/pubsub/subscriber.js'
import { until } from '../../fixtures/until.js'

const BATCH = 100
const WARM_ROUNDS = 60
const ROUNDS = 240
/** A leak of 700 bytes per subscription exceeds it. */
const GROWTH_BYTES_MAX = ROUNDS * BATCH * 700

const NODE_OPTIONS = '--max-semi-space-size=1 --max-old-space-size=48'

const rssOf = (pid: number): number => {
  const [, kib = '0'] =
    /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kib) * 1024
}

const batchOf = (calls: readonly (readonly [method: string, params: unknown])[]): string =>
  JSON.stringify(calls.map(([method, params], id) => ({ jsonrpc: '2.0', id, method, params })))

const resultsOf = (reply: unknown): readonly unknown[] => {
  if (!Array.isArray(reply)) throw new TypeError('no batch')
  return reply.map(one => toMembers(one)['result'])
}

/** Distinct subscriptions of every kind that takes memory. */
const subscribe = async (subscriber: Subscriber): Promise<readonly number[]> => {
  const calls = Array.from({ length: BATCH }, (_, index): [string, unknown] => {
    const key = bs58.encode(randomBytes(32))
    const filters = [{ dataSize: index }, { memcmp: { offset: index, bytes: key } }]
    return [
      ['accountSubscribe', [key, { encoding: 'jsonParsed' }]],
      ['programSubscribe', [key, { filters }]],
      ['logsSubscribe', [{ mentions: [key] }]],
      ['signatureSubscribe', [bs58.encode(randomBytes(64))]],
    ][index % 4] as [string, unknown]
  })
  return resultsOf(await subscriber.exchange(batchOf(calls))).map(Number)
}

t.test('repeated subscribing and disconnecting leaks no memory', async t => {
  t.setTimeout(100_000)
  const { description, pidsOf } = await startDeployment(t, {
    args: ['--edges', '1', '--traffic', '20', '--slot-ms', '50'],
    // A larger young generation grows by some 40 MB before it is collected.
    nodeOptions: NODE_OPTIONS,
  })
  const [{ wsUrl }] = description.locations
  const [edge = 0] = pidsOf('edge')
  const wrong: unknown[] = []
  const churn = async (rounds: number): Promise<void> => {
    let subscriber = await openSubscriber(wsUrl)
    for (let round = 0; round < rounds; round++) {
      const ids = await subscribe(subscriber)
      // Every second round ends by closing the socket.
      if (round % 2 === 0) {
        subscriber.close()
        subscriber = await openSubscriber(wsUrl)
        continue
      }
      const leaving = ids.map((id): [string, unknown] => ['accountUnsubscribe', [id]])
      const results = resultsOf(await subscriber.exchange(batchOf(leaving)))
      wrong.push(...results.filter(result => result !== true))
    }
    subscriber.close()
  }
  await churn(WARM_ROUNDS)
  const before = rssOf(edge)
  await churn(ROUNDS)
  const growth = rssOf(edge) - before
  t.strictSame(wrong.slice(0, 3), [])
  t.comment(`${ROUNDS * BATCH} subscriptions, ${Math.round(growth / 1024)} KiB more`)
  t.ok(growth < GROWTH_BYTES_MAX, `${growth} bytes`)
  await until('no subscription is left', async () => {
    const page = await (await fetch(description.metricsUrl)).text()
    const found = page.match(/^slotline_subscription(s|_ids)\{process="edge 0",[^}]*\} 0$/gm)
    return found?.length === 2
  })
})
