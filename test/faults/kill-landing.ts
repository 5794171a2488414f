import { randomBytes } from 'node:crypto'
import t from 'tap'
import { DashboardClient } from '../fixtures/dashboard/dashboard-client.js'
import { startDeployment } from '../fixtures/processes/deployment.js'
import { requirePid } from '../fixtures/processes/require-pid.js'
import { createSubmitter } from '../fixtures/submission/sandbox-submitter.js'
import { openSubscriber, type Subscriber } from '../fixtures/pubsub/subscriber.js'
import { latencyMax } from '../fixtures/soak.js'
import { until } from '../fixtures/until.js'

/** Blocks for which a blockhash is valid, at 50 ms each, and time to notice. */
const EXPIRY_MS = 30_000

/** From a kill of the sender to the answer of the next race; of a busy machine in `npm test`. */
const SERVED_MS = latencyMax(1_000)

/** States after which nothing more is told of a transaction. */
const ENDS = ['final', 'failed', 'expired', 'replaced', 'unseen']

type Change = { readonly state: string; readonly signature?: string; readonly cursor: string }

type Lane = { readonly lane: string | null; readonly sent: number }

/** Those of the sandbox. */
const LANES = ['json-rpc', 'octets', 'text', 'quic']

/** What the dev lander has received; the body is latin1. */
type Received = { readonly body: string }

/** A submission that was raced. */
type Raced = { readonly lanes?: readonly { readonly outcome: string }[] }

type Listed = { readonly submissions?: readonly { readonly state: string }[] }

t.test('a killed sender still finds what landed and what expired', { timeout: 90_000 }, async t => {
  const deployment = await startDeployment(t, { args: ['--edges', '1', '--slot-ms', '50'] })
  const { dashboardUrl, identity } = deployment.description
  const ada = new DashboardClient(dashboardUrl)
  const [user] = identity.users
  if (user === undefined) throw new Error('nobody can sign in')
  await ada.signIn(user)
  const { accesses } = (await ada.ask('/api/accesses')).json as {
    readonly accesses: readonly { readonly accessId: string }[]
  }
  const stateOf = async (signature: string): Promise<string | undefined> => {
    for (const { accessId } of accesses) {
      const path = `/api/accesses/${accessId}/submissions?limit=1&signature=${signature}`
      const { submissions = [] } = (await ada.ask(path)).json as Listed
      if (submissions[0] !== undefined) return submissions[0].state
    }
    return undefined
  }
  const submitter = createSubmitter(deployment.description)
  const { wsUrl } = deployment.description.locations[0]
  const told = await openSubscriber(wsUrl)
  await told.subscribe('submissionSubscribe')
  const landing = await submitter.forLander()
  const relayed = await submitter.forRelay()
  const expiring = await submitter.forNoBlock()
  const unknown = await submitter.forLander({ blockhash: randomBytes(32) })
  await Promise.all([
    submitter.lander(landing),
    submitter.relayBundle([relayed]),
    submitter.lander(expiring),
    submitter.lander(unknown),
  ])
  const sent = [landing, relayed, expiring, unknown]
  // A record of the answer follows the answer.
  await until('all answers are stored', async () => {
    const states = await Promise.all(sent.map(({ signature }) => stateOf(signature)))
    return states.every(state => ![undefined, 'received', 'written'].includes(state))
  })
  const sender = requirePid(deployment.pidsOf('sender')[0])
  process.kill(sender, 'SIGKILL')
  await until('another sender runs', () => {
    const [pid] = deployment.pidsOf('sender')
    return pid !== undefined && pid !== sender
  })
  t.equal(await stateOf(expiring.signature), 'accepted')
  const caller = await openSubscriber(wsUrl)
  t.match(await caller.call('getSubmission', [expiring.signature]), {
    state: 'accepted',
    transactions: [{ signature: expiring.signature, state: 'waiting' }],
  })
  for (const { signature } of [landing, relayed])
    await until('it is final', async () => (await stateOf(signature)) === 'final')
  await until(
    'it has expired',
    async () => (await stateOf(expiring.signature)) === 'expired',
    EXPIRY_MS,
  )
  // When its blockhash would have expired is not known, nor whether a block before the kill had it.
  await until(
    'the search has ended',
    async () => (await stateOf(unknown.signature)) === 'unseen',
    EXPIRY_MS,
  )
  const changes = (from: Subscriber): readonly Change[] =>
    from.notifications.map(({ result }) => result as Change)
  const ends = (from: Subscriber): Change[] =>
    changes(from).filter(({ state }) => ENDS.includes(state))
  await until('each end was told', () => ends(told).length === sent.length)
  for (const { signature } of sent) {
    const own = changes(told).filter(one => one.signature === signature)
    const states = own.map(({ state }) => state)
    t.equal(states.filter(state => ENDS.includes(state)).length, 1, states.join(' '))
    t.equal(new Set(states).size, states.length, 'nothing is told twice')
  }
  const [first] = changes(told)
  const again = await openSubscriber(wsUrl)
  await again.subscribe('submissionSubscribe', [{ from: first?.cursor }])
  await until('the rest is told again', () => ends(again).length === sent.length)
  t.strictSame(changes(again), changes(told).slice(1), 'a cursor outlives the sender')
  const page = await caller.call('getSubmissions', [{ state: 'final' }])
  t.match(page, { next: null })
  t.equal((page as { submissions: unknown[] }).submissions.length, 2)
  for (const one of [told, caller, again]) one.close()

  const { metricsUrl } = deployment.description
  const untilUp = (): Promise<void> =>
    until('the lane over QUIC is connected', async () => {
      const page = await (await fetch(metricsUrl)).text()
      return /slotline_lane_connected{.*lane="quic"} 1/.test(page)
    })
  const race = (one: { readonly bytes: Uint8Array }): Promise<unknown> =>
    submitter.post('/race?response=json', one.bytes, 'application/octet-stream')
  const killSender = async (): Promise<void> => {
    const former = requirePid(deployment.pidsOf('sender')[0])
    process.kill(former, 'SIGKILL')
    await until('another sender runs', () => {
      const [pid] = deployment.pidsOf('sender')
      return pid !== undefined && pid !== former
    })
  }

  // Its lanes are open again at the next one, which knows what was raced.
  const raced = await submitter.forLander()
  const answer = { result: raced.signature, lanes: LANES.map(lane => ({ lane })) }
  await untilUp()
  t.match(await race(raced), answer)
  // Records are gathered for a moment, and those of a killed sender are lost with it.
  const untilStored = (signature: string): Promise<void> =>
    until('it is stored', async () => (await stateOf(signature)) !== undefined)
  await untilStored(raced.signature)
  await killSender()
  t.match(await race(raced), answer, 'it is known there')
  const next = await submitter.forLander()
  t.match(await race(next), { result: next.signature })
  await untilStored(next.signature)
  await untilUp()

  const lander = `${deployment.description.landerUrl}/_control`
  const inject = (fault: object): Promise<Response> =>
    fetch(lander, { method: 'POST', body: JSON.stringify(fault) })
  const reads = await openSubscriber(wsUrl)
  const outcomesOf = async (signature: string): Promise<string[]> => {
    const found = (await reads.call('getSubmission', [signature]).catch(() => null)) as Raced | null
    return (found?.lanes ?? []).map(({ outcome }) => outcome).toSorted()
  }
  /** Kills the sender while this transaction is in flight on a lane. */
  const killAmid = async (signature: string): Promise<void> => {
    await until('a lane waits', async () => (await outcomesOf(signature)).includes('pending'))
    await killSender()
    await until('none does', async () => !(await outcomesOf(signature)).includes('pending'))
  }
  const [answered, lost] = [await submitter.forLander(), await submitter.forLander()]
  await inject({ delayMs: 60_000, times: 3 })
  t.match(await race(answered), { result: answered.signature })
  await killAmid(answered.signature)
  t.strictSame(await outcomesOf(answered.signature), [
    ...['accepted', 'unknown', 'unknown', 'unknown'],
  ])
  t.match(await race(answered), { result: answered.signature }, 'it is known there')

  await untilUp()
  await inject({ delayMs: 60_000 })
  const losing = race(lost)
  await killAmid(lost.signature)
  t.strictSame(
    await outcomesOf(lost.signature),
    LANES.map(() => 'unknown'),
  )
  t.match(await losing, { error: { message: /outcome/ } })
  t.match(await race(lost), { error: { message: /outcome/ } }, 'it is not sent again')
  reads.close()

  await inject({ delayMs: 0 })
  const killed = killSender()
  const killedMs = performance.now()
  // One that still goes to the killed one is lost with it.
  await until('the next race is answered', async () => {
    const reply = (await race(await submitter.forLander())) as { readonly result?: string }
    return reply.result !== undefined
  })
  const servedMs = performance.now() - killedMs
  t.comment(`a race was answered ${servedMs.toFixed(0)} ms after its sender was killed`)
  t.ok(servedMs < SERVED_MS)
  await killed

  const { received } = (await (await fetch(lander)).json()) as {
    readonly received: readonly Received[]
  }
  for (const { bytes } of [raced, answered, lost]) {
    const forms = (['latin1', 'base64'] as const).map(form => Buffer.from(bytes).toString(form))
    const count = received.filter(({ body }) => forms.some(form => body.includes(form))).length
    t.equal(count, LANES.length, 'each lane was written to once')
  }

  const asker = await openSubscriber(wsUrl)
  const countsOf = async (): Promise<Record<string, Lane>> => {
    const { lanes } = (await asker.call('getLanePerformance', [])) as { lanes: readonly Lane[] }
    return Object.fromEntries(lanes.map(one => [String(one.lane), one]))
  }
  // Those of which nothing was sent are not counted.
  const countRaces = async (): Promise<number> => {
    const listed = await asker.call('getSubmissions', [{ route: '/race', limit: 100 }])
    return (listed as { submissions: { state: string }[] }).submissions.filter(
      ({ state }) => state !== 'unreachable' && state !== 'full',
    ).length
  }
  // Records are gathered for a while before they are listed.
  let races = 0
  const isCounted = async (): Promise<boolean> => {
    races = await countRaces()
    return races >= 5 && (await countsOf())['null']?.sent === races
  }
  await until('all ends are counted', isCounted, EXPIRY_MS)
  t.match(
    await countsOf(),
    {
      lander: { sent: 3, landed: 1, expired: 1, unseen: 1, landingRate: 0.5 },
      relayBundle: { sent: 1, landed: 1, landingRate: 1, tips: [{ sent: 1 }] },
      null: { sent: races },
    },
    'each once, whatever was killed',
  )
  const body = '{"jsonrpc":"2.0","id":1,"method":"getLanePerformance","params":[{"lane":"lander"}]}'
  t.match(await submitter.post('', body, 'application/json'), {
    result: { lanes: [{ lane: 'lander', sent: 3, delaySlots: { p50: Number }, tips: Array }] },
  })
  asker.close()
})
