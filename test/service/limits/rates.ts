import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { storeAccesses } from '../../fixtures/access/stored-accesses.js'
import { DashboardClient } from '../../fixtures/dashboard/dashboard-client.js'
import { ownDir } from '../../fixtures/own-dir.js'
import { startDeployment } from '../../fixtures/processes/deployment.js'
import { openSocket } from '../../fixtures/server/socket.js'
import { until } from '../../fixtures/until.js'

type Shown = {
  readonly requestsLastSecond: number
  readonly requestsPerSecond: number
  readonly sockets: number
  readonly subscriptions: number
  readonly subscriptionsOfSocket: number
  readonly peak: { readonly perSecond: number; readonly atMs: number } | null
  readonly refused: Readonly<Record<string, number>>
}

const BLOCKHASH = '{"jsonrpc":"2.0","id":1,"method":"getLatestBlockhash"}'
/** A point read, which the compiled server answers by itself. */
const ACCOUNT =
  '{"jsonrpc":"2.0","id":1,"method":"getAccountInfo","params":["11111111111111111111111111111111",{"encoding":"base64"}]}'

/**
 * How far a sample may be off what was sent: it is of a second to within a tenth. What was sent is
 * measured, because a busy machine sends in spurts.
 */
const SLACK = 0.15
const RATE = 80

/** From before a request to after its answer: it is charged in between. */
type Sent = { readonly fromMs: number; untilMs: number }

/** The fewest and the most requests that may have been charged in a second that ended by now. */
const chargedInASecond = (requests: readonly Sent[]): { least: number; most: number } => {
  let [least, most] = [Infinity, 0]
  const first = requests[0]?.fromMs ?? 0
  for (let fromMs = first; fromMs < performance.now(); fromMs += 20) {
    const untilMs = fromMs + 1_000
    const within = requests.filter(one => one.fromMs >= fromMs && one.untilMs <= untilMs)
    const touching = requests.filter(one => one.untilMs >= fromMs && one.fromMs <= untilMs)
    if (untilMs < performance.now()) least = Math.min(least, within.length)
    most = Math.max(most, touching.length)
  }
  return { least, most }
}

t.test('the dashboard shows what a load generator sends', async t => {
  const dataDir = ownDir(t)
  const [access] = await storeAccesses(dataDir, [
    {
      requestsPerSecondMax: 100,
      requestsBurstMax: 90,
      requestsInFlightMax: 500,
      socketsMax: 3,
      subscriptionsPerSocketMax: 2,
    },
  ])
  if (access === undefined) return
  const deployment = await startDeployment(t, { dataDir, args: ['--edges', '2'] })
  const { port, description } = deployment
  const ben = new DashboardClient(description.dashboardUrl)
  const [, person] = description.identity.users
  if (person === undefined) return
  await ben.signIn(person)
  const read = async (): Promise<Shown> =>
    (await ben.call('GET', `/api/accesses/${access.accessId}/usage`)).json as Shown
  const send = async (body: string): Promise<number> => {
    const reply = await fetch(`http://127.0.0.1:${port}/${access.token}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
    await reply.arrayBuffer()
    return reply.status
  }

  await t.test('before any request', async t => {
    t.match(await read(), { requestsLastSecond: 0, peak: null, sockets: 0, subscriptions: 0 })
  })

  await t.test('an even rate, of calls that JavaScript answers and does not answer', async t => {
    const startMs = performance.now()
    const sent: Promise<number>[] = []
    const requests: Sent[] = []
    const begin = async (body: string): Promise<number> => {
      const one = { fromMs: performance.now(), untilMs: Infinity }
      requests.push(one)
      const status = await send(body)
      one.untilMs = performance.now()
      return status
    }
    let shown: number | undefined
    let [least, most] = [0, Infinity]
    while (performance.now() - startMs < 5_000) {
      const due = ((performance.now() - startMs) * RATE) / 1_000
      while (sent.length < due) sent.push(begin(sent.length % 2 === 0 ? ACCOUNT : BLOCKHASH))
      if (performance.now() - startMs > 2_500 && shown === undefined) {
        shown = (await read()).requestsLastSecond
        ;({ least, most } = chargedInASecond(requests))
      }
      await sleep(5)
    }
    t.ok((await Promise.all(sent)).every(status => status === 200))
    const first = shown ?? 0
    const about = `${first} of ${RATE} a second, of which ${least} to ${most} were sent in one`
    t.ok(first >= least * (1 - SLACK) && first <= most * (1 + SLACK), about)
    const { peak } = await read()
    t.ok(peak !== null && peak.perSecond >= first, `peak ${peak?.perSecond}`)
    t.ok(peak !== null && peak.perSecond <= chargedInASecond(requests).most * (1 + SLACK) + 1)
    await until('the rate is 0 again', async () => (await read()).requestsLastSecond === 0)
  })

  await t.test('a burst is the peak, and what is over it is refused by its limit', async t => {
    const { peak: former } = await read()
    const startMs = Date.now()
    const statuses = await Promise.all(Array.from({ length: 130 }, () => send(ACCOUNT)))
    const took = (Date.now() - startMs) / 1_000
    const passed = statuses.filter(status => status === 200).length
    t.ok(passed >= 90 && passed <= 91 + 100 * took, `${passed} in ${took} s`)
    const refused = 130 - passed
    t.equal(statuses.filter(status => status === 429).length, refused)
    const batch = `[${Array.from({ length: 91 }, () => BLOCKHASH).join(',')}]`
    t.equal(await send(batch), 429)
    await until('all are counted', async () => {
      const found = (await read()).refused
      return found['requestsPerSecondMax'] === refused && Number(found['requestsBurstMax']) === 1
    })
    const { peak } = await read()
    // The burst may lie in two seconds of the sampler.
    t.ok(peak !== null && peak.perSecond >= passed / 2, `peak ${peak?.perSecond} of ${passed}`)
    t.ok(peak !== null && peak.atMs <= Date.now() + 1_000)
    // The former peak stays where the burst lies in two of them, and in each is smaller.
    if (peak?.atMs === former?.atMs) t.strictSame(peak, former)
    else {
      t.ok(peak !== null && peak.perSecond <= (passed + 1) * (1 + SLACK))
      t.ok(peak !== null && peak.atMs >= startMs)
    }
  })

  await t.test('WebSockets and their subscriptions', async t => {
    const open = async (...methods: readonly string[]) => {
      const client = await openSocket(port, { path: `/${access.token}` })
      t.teardown(() => client.destroy())
      const answers = []
      for (const method of methods) answers.push(await client.call(method))
      return { client, answers }
    }
    type Client = Awaited<ReturnType<typeof openSocket>>
    /** The answer to a call: slots and roots of the feed may come before it. */
    const answerTo = async (client: Client, method: string, params?: readonly unknown[]) => {
      let answer = await client.call(method, params)
      while (answer instanceof Object && 'method' in answer)
        answer = JSON.parse(await client.next())
      return answer
    }
    const first = await open('slotSubscribe')
    t.match(await answerTo(first.client, 'rootSubscribe'), { result: Number })
    const refusal = await answerTo(first.client, 'logsSubscribe', ['all'])
    t.match(refusal, { error: { code: -32603 } })
    await open('slotSubscribe')
    await open()
    await t.rejects(openSocket(port, { path: `/${access.token}` }))
    await until('they are counted', async () => {
      const { refused, ...shown } = await read()
      return (
        shown.sockets === 3 &&
        shown.subscriptions === 3 &&
        shown.subscriptionsOfSocket === 2 &&
        refused['socketsMax'] === 1 &&
        refused['subscriptionsPerSocketMax'] === 1
      )
    })
    first.client.destroy()
    await until('one is closed', async () => {
      const { sockets, subscriptions, subscriptionsOfSocket } = await read()
      return sockets === 2 && subscriptions === 1 && subscriptionsOfSocket === 1
    })
  })

  await t.test('peaks and refusals outlive control', async t => {
    const before = await read()
    const [pid] = deployment.pidsOf('control')
    if (pid !== undefined) process.kill(pid, 'SIGKILL')
    await until('control is back', async () => {
      try {
        return (await read()).peak !== null
      } catch {
        return false
      }
    })
    const after = await read()
    t.strictSame(after.peak, before.peak)
    t.strictSame(after.refused, before.refused)
  })
})
