import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { parse, stringify } from 'smol-toml'
import t, { type Test } from 'tap'
import { startSandboxChain } from '../../src/sandbox/sandbox-chain.js'
import { ERRORS } from '../../src/shared/errors.js'
import { StoreReader } from '../../src/submission/store/store-reader.js'
import type { Submission } from '../../src/submission/store/submission.js'
import { call, childPids, runToEnd } from '../fixtures/processes/deployment.js'
import { requirePid } from '../fixtures/processes/require-pid.js'
import { prepareServe, type Prepared } from '../fixtures/processes/serve.js'
import { single } from '../fixtures/submission/lander.js'
import { signaturesOf } from '../fixtures/submission/relay-engine.js'
import {
  NEVER,
  openResettingUpstream,
  type Arrival,
  type Times,
} from '../fixtures/submission/resetting-upstream.js'
import { base64, sendBundle, toBundle, TIPS } from '../fixtures/submission/relay.js'
import { FLOOR, tipping, TIPS as LANDER_TIPS } from '../fixtures/sandbox/tipping.js'
import { openQuicClient } from '../fixtures/server/quic.js'
import { isSoak, latencyMax } from '../fixtures/soak.js'
import { until } from '../fixtures/until.js'

/** Least submissions, and how many a second. Both are exceeded until every fault has happened. */
const SUBMISSIONS = isSoak ? 10_000 : 600
const PER_SECOND = isSoak ? 500 : 50
const ROUNDS = isSoak ? 3 : 1
/** From the kill of the sender to the first answer of its successor, on a machine by itself. */
const SERVED_MS = latencyMax(1_000)
/** Submissions at once: a client that falls behind sends less. */
const IN_FLIGHT_MAX = PER_SECOND / 2
/** Time of an upstream to answer, as configured. */
const ANSWER_MS = 4_500
const PAUSE_MS = 300
/** Until a client notices what has happened. */
const NOTICE_MS = 500
const TEST_MS = isSoak ? 400_000 : 120_000
const TICK_MS = 10
/** Records of lander routes are gathered for so long, and lost with their sender. */
const GATHERED_MS = 2_000

const ROUTES = ['/lander', '/relay-bundle', 'QUIC'] as const
/** Streams at once of one client. */
const STREAMS = 64
/** The frame of an answer, before its text. */
const FRAME_HEAD = 6

/** What a client has sent, and heard: nothing where its connection broke. */
type Sent = Times & {
  readonly route: (typeof ROUTES)[number]
  readonly signature: string
  status: number
  text: string
}

const isAccepted = ({ route, status, text }: Sent): boolean =>
  route === 'QUIC' ? status === 200 : text.includes('"result"')

const isIn = (ms: number, { startMs, endMs }: Times): boolean =>
  startMs - NOTICE_MS <= ms && ms <= endMs + NOTICE_MS

const prepare = (t: Test, geyserUrl: string, upstreamUrl: string): Promise<Prepared> => {
  const feed = { endpoint: geyserUrl, startSlot: 1 }
  const upstream = { urls: [upstreamUrl] }
  const lander = { upstream, tipAddresses: LANDER_TIPS.slice(0, 10) }
  const { service, engine } = TIPS['/relay-bundle']
  const relayBundle = {
    upstream,
    serviceTipAddresses: service,
    engineTipAddresses: engine,
    requestsPerSecondMax: 1_000_000,
    requestsBurstMax: 1_000_000,
    tipCheckMs: 0,
  }
  return prepareServe(
    t,
    { one: feed },
    {
      networks: [{ id: 'one', feed, lander, relayBundle }] as object,
      processes: { edgeCount: 2, startMs: 20_000 },
    },
    { limits: { requestsInFlightMax: 10_000 }, hasQuic: true },
  )
}

/** Sends over HTTP. */
const openHttp = (url: string) => {
  const agent = new Agent({ keepAlive: true, scheduling: 'fifo' })
  const send = (own: Sent, body: string): Promise<void> =>
    new Promise(resolve => {
      const headers = { 'content-type': 'application/json' }
      const sending = request(url + own.route, { method: 'POST', agent, headers }, reply => {
        let text = ''
        reply.setEncoding('utf8')
        reply.on('data', chunk => (text += String(chunk)))
        reply.on('error', () => resolve())
        reply.on('end', () => {
          own.status = reply.statusCode ?? 0
          own.text = text
          resolve()
        })
      })
      sending.on('error', () => resolve())
      sending.end(body)
    })
  return { send, close: () => agent.destroy() }
}

/** Sends over one QUIC connection, and the next one where it has ended. */
const openQuic = (url: URL) => {
  const token = url.pathname.slice(1)
  const client = openQuicClient({ port: Number(url.port), token, streamsMax: STREAMS })
  const send = async (own: Sent, transaction: Uint8Array): Promise<void> => {
    const { answer } = await client.send(transaction)
    if (answer === undefined) return
    const frame = Buffer.from(answer)
    own.status = frame.readUInt16BE(2)
    own.text = frame.toString('utf8', FRAME_HEAD)
  }
  return { send, close: () => client.close() }
}

/** Sends submissions of each route in turn, at a rate, or less where they take long. */
const startClient = (url: string) => {
  const [http, quic] = [openHttp(url), openQuic(new URL(url))]
  const sent: Sent[] = []
  const pending = new Set<Promise<void>>()
  const submit = async (nth: number): Promise<void> => {
    const route = ROUTES[nth % ROUTES.length] ?? 'QUIC'
    const texts =
      route === '/relay-bundle'
        ? toBundle('/relay-bundle', `load ${nth}`, 1)
        : [base64(tipping([FLOOR, 0]))]
    const [text = ''] = texts
    const [signature = ''] = signaturesOf(texts)
    const startMs = performance.now()
    const own: Sent = { route, signature, status: 0, text: '', startMs, endMs: 0 }
    sent.push(own)
    if (route === 'QUIC') await quic.send(own, Buffer.from(text, 'base64'))
    else await http.send(own, route === '/lander' ? single(text) : sendBundle(route, texts))
    own.endMs = performance.now()
  }
  const timer = setInterval(() => {
    const count = Math.min((TICK_MS * PER_SECOND) / 1_000, IN_FLIGHT_MAX - pending.size)
    for (let nth = 0; nth < count; nth++) {
      const one = submit(sent.length).finally(() => pending.delete(one))
      pending.add(one)
    }
  }, TICK_MS)
  return {
    sent,
    stop: async () => {
      clearInterval(timer)
      await Promise.all(pending)
      http.close()
      quic.close()
    },
  }
}

/** A service under load, and the processes of it that were killed. */
const open = async (t: Test) => {
  const chain = await startSandboxChain()
  t.teardown(() => chain.close())
  const { arrivals, reset, url } = await openResettingUpstream(t)
  const prepared = await prepare(t, chain.geyserUrl, url)
  const service = await prepared.start()
  await until('a slot is served', () =>
    call(prepared.urlOf('one'), 'getSlot', []).then(Boolean, () => false),
  )
  return {
    arrivals,
    reset,
    prepared,
    client: startClient(prepared.urlOf('one')),
    supervisor: requirePid(service.supervisor.pid),
    /** When edges were killed. */
    edgeKills: new Array<number>(),
    /** From a kill of the sender until its successor serves. */
    outages: new Array<Times>(),
    /** When the upstream reset connections. */
    resets: new Array<Times>(),
    readMs: 20_000,
  }
}
type Loaded = Awaited<ReturnType<typeof open>>

const pidsOf = ({ supervisor }: Loaded, role: string): number[] =>
  childPids(supervisor, `slotline ${role}`)

const killEdge = async (_: Test, loaded: Loaded): Promise<void> => {
  const killed = requirePid(pidsOf(loaded, 'edge')[0])
  loaded.edgeKills.push(performance.now())
  process.kill(killed, 'SIGKILL')
  await until('there are two edges again', async () => {
    const page = await (await fetch(loaded.prepared.metricsUrl)).text()
    const areUp = [0, 1].every(nth => page.includes(`child="edge ${nth}"} 1\n`))
    return areUp && !pidsOf(loaded, 'edge').includes(killed)
  })
}

const killSender = async (t: Test, loaded: Loaded): Promise<void> => {
  await until('the former one has drained', () => pidsOf(loaded, 'sender').length === 1)
  const pid = requirePid(pidsOf(loaded, 'sender')[0])
  const startMs = performance.now()
  const outage = { startMs, endMs: Infinity }
  loaded.outages.push(outage)
  process.kill(pid, 'SIGKILL')
  const { sent } = loaded.client
  const isServed = (one: Sent): boolean => one.startMs > startMs && isAccepted(one)
  await until('the next submission is served', () => sent.some(isServed))
  outage.endMs = Math.min(...sent.filter(isServed).map(({ endMs }) => endMs))
  const servedMs = Math.round(outage.endMs - startMs)
  t.ok(servedMs < SERVED_MS, `served ${servedMs} ms after the kill of the sender`)
}

const reload = async (t: Test, loaded: Loaded): Promise<void> => {
  const { configFile } = loaded.prepared
  const config = parse(readFileSync(configFile, 'utf8'))
  loaded.readMs++
  config['rpc'] = { readTimeoutMs: loaded.readMs }
  config['submissionStore'] = { ageMsMax: 100_000_000 + loaded.readMs }
  writeFileSync(configFile, stringify(config))
  const { code, output } = await runToEnd(t, ['reload', '--config', configFile])
  t.equal(code, 0, output)
  t.match(output, /replaced .*sender, edge 0, edge 1/)
}

const upgrade = async (t: Test, loaded: Loaded): Promise<void> => {
  const former = new Set([...pidsOf(loaded, 'sender'), ...pidsOf(loaded, 'edge')])
  const { code, output } = await runToEnd(t, ['upgrade', '--data-dir', loaded.prepared.dataDir])
  t.equal(code, 0, output)
  const supervisor = Number(/process (\d+) has the service/.exec(output)?.[1])
  t.teardown(() => {
    if (existsSync(`/proc/${supervisor}`)) process.kill(supervisor, 'SIGKILL')
  })
  loaded.supervisor = supervisor
  const own = [...pidsOf(loaded, 'sender'), ...pidsOf(loaded, 'edge')]
  t.notOk(
    own.some(pid => former.has(pid)),
    'each is another process',
  )
}

const resetUpstream = async (t: Test, loaded: Loaded): Promise<void> => {
  loaded.resets.push(await loaded.reset())
  const count = loaded.client.sent.filter(one => isReset(loaded, one) && !isAccepted(one)).length
  t.ok(count > 0, `${count} were in flight on connections that were reset`)
}

const FAULTS = [killEdge, resetUpstream, reload, killSender, upgrade]

const isKilled = ({ edgeKills }: Loaded, one: Times): boolean => edgeKills.some(ms => isIn(ms, one))

/** The upstream may have had it, or not: nobody but the client can find out. */
const isReset = ({ resets }: Loaded, one: Times): boolean =>
  resets.some(({ startMs, endMs }) => one.startMs <= endMs && one.endMs >= startMs)

const isLost = ({ outages }: Loaded, one: Times): boolean =>
  outages.some(({ startMs }) => isIn(startMs, one))

/** What a client may not have heard. */
const findFaults = (loaded: Loaded): string[] => {
  const { arrivals, client, outages } = loaded
  const kindOf = (one: Sent, { count, answeredMs }: Arrival): string | undefined => {
    const { startMs, endMs, route, status, text } = one
    const isLate = answeredMs > startMs + ANSWER_MS
    if (count > 1) return 'sent twice'
    if (isAccepted(one)) return answeredMs > endMs ? 'accepted by nobody' : undefined
    // A stream that found no connection was not sent.
    const isUnsent = route === 'QUIC' && count === 0
    if (status === 0) return isKilled(loaded, one) || isUnsent ? undefined : 'a broken connection'
    if (text.includes(ERRORS.noSender.message)) {
      const isOut = outages.some(outage => isIn(startMs, outage))
      return isOut && count === 0 ? undefined : 'no sender'
    }
    // A connection that was reset before anything was written.
    if (text.includes(ERRORS.upstreamUnreachable.message) && isReset(loaded, one))
      return count === 0 ? undefined : 'sent, though unreachable'
    const isUnknown = text.includes(ERRORS.outcomeUnknown.message)
    const isExplained = isLate || isLost(loaded, one) || isReset(loaded, one)
    return isUnknown && isExplained ? undefined : 'no outcome'
  }
  return client.sent.flatMap(one => {
    const arrival = arrivals.get(one.signature) ?? NEVER
    const kind = kindOf(one, arrival)
    return kind === undefined ? [] : [`${kind}: ${JSON.stringify({ ...one, ...arrival })}`]
  })
}

/** Submissions at the upstream of which no record tells how they ended. */
const findUntold = (loaded: Loaded, found: readonly Submission[]): string[] => {
  const { arrivals, client, outages } = loaded
  const records = new Map<string, Submission>()
  for (const record of found)
    for (const signature of record.signatures) records.set(signature, record)
  // An edge that was killed had not read the transaction yet.
  let unread = found.filter(one => one.signatures.length === 0 && one.outcome === 'accepted').length
  const isTold = (one: Sent, { count, answeredMs }: Arrival): boolean => {
    if (count === 0) return true
    const outcome = records.get(one.signature)?.outcome
    if (outcome === 'accepted') return answeredMs < Infinity
    const isLate = answeredMs > one.startMs + ANSWER_MS
    if (outcome !== undefined)
      return outcome === 'unknown' && (isLate || isLost(loaded, one) || isReset(loaded, one))
    const gathered = { ...one, endMs: one.endMs + GATHERED_MS }
    if (one.route === '/relay-bundle') return false
    return (
      outages.some(({ startMs }) => isIn(startMs, gathered)) ||
      (isKilled(loaded, one) && unread-- > 0)
    )
  }
  return client.sent
    .filter(one => !isTold(one, arrivals.get(one.signature) ?? NEVER))
    .map(one => JSON.stringify({ ...one, record: records.get(one.signature) }))
}

t.test('no answer of an upstream is lost, nothing is sent twice', { timeout: TEST_MS }, async t => {
  const loaded = await open(t)
  const { arrivals, client, prepared } = loaded
  const { sent } = client
  for (let round = 0; round < ROUNDS; round++)
    for (const fault of FAULTS) {
      await sleep(PAUSE_MS)
      await fault(t, loaded)
    }
  await until('all are sent', () => sent.length >= SUBMISSIONS, TEST_MS)
  await client.stop()
  const faults = findFaults(loaded)
  t.strictSame(faults.slice(0, 5), [], `${faults.length} of ${sent.length}`)
  const brokenCount = sent.filter(({ status }) => status === 0).length
  const lostCount = sent.filter(one => isLost(loaded, one) && !isAccepted(one)).length
  t.comment(
    `${sent.length} sent, ${arrivals.size} at the upstream, ${brokenCount} connections broken, ` +
      `${lostCount} in flight at a killed sender`,
  )
  t.ok(lostCount > 0)
  for (const route of ROUTES) {
    const count = sent.filter(one => one.route === route && isAccepted(one)).length
    t.ok(count > SUBMISSIONS / 10, `${count} accepted over ${route}`)
  }

  const reader = new StoreReader(prepared.dataDir)
  t.teardown(() => reader.close())
  let untold: string[] = []
  const isTold = async (): Promise<boolean> => {
    const start = { before: undefined, countMax: 2 * sent.length, limitMs: 60_000, now: Date.now }
    const { found } = await reader.search({ accessId: prepared.accessId }, start)
    const records = found.map(({ submission }) => submission)
    untold = findUntold(loaded, records)
    return untold.length === 0
  }
  await until('the records tell how each ended', isTold).catch(() => undefined)
  t.strictSame(untold.slice(0, 5), [], `${untold.length} of ${sent.length}`)
})
