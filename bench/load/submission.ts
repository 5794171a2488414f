// The latency that an edge adds to a submission, over HTTP and by WebSocket, against the same
// request to the upstream itself; and what batches cost a reader.
import { once } from 'node:events'
import { Client, WebSocket } from 'undici'
import { cpuMsOf, runJob, startChild } from '../child.js'
import type { Exchange, Target } from '../load-generators/connection.js'
import type { ClosedLoop, ClosedLoopResult } from '../load-generators/closed-loop.js'
import type { Latency, OpenLoop } from '../load-generators/open-loop.js'
import type { Context } from '../context.js'
import { OPEN_LOOP_CONNECTIONS, OPEN_LOOP_REQUESTS_PER_SECOND } from '../options.js'
import type * as proxy from '../peers/proxy.js'
import { PATHS } from '../peers/upstream-paths.js'
import { median } from '../report/report.js'
import { encodeBatch, signTransaction } from '../data/transactions.js'

/** Targets of docs/performance.md. */
const ADDED = { p50: 0.6, p99: 2 } as const
export const REQUESTS_PER_SECOND = 500
/** Of different bundles, so that none is in flight twice. */
const EXCHANGES = 256
const BATCH_RECORDS = 16
/**
 * Of autocannon, whose connections all send the same one after the other: a relay forwards equal
 * bundles once.
 */
const CLOSED_LOOP_CONNECTIONS = 16
/** Batches beside which reads are measured: 1,600 signatures a second. */
const BATCHES_PER_SECOND = 100
/** Of what a probe was to send: with less it has measured something else. */
const SENT_AT_LEAST = 0.95
/** Bound of reads beside submissions against reads alone. */
const READS_OF_IDLE = 1.5

/** One route: how it is asked, and where the upstream would be asked directly. */
type Case = {
  readonly name: string
  readonly route: string
  readonly direct: string
  readonly contentType?: string
  readonly bodies: readonly (string | Uint8Array)[]
  /** The same calls as messages of a WebSocket. */
  readonly messages?: readonly string[]
}

const callBodies = (method: string, paramsOf: (nth: number) => unknown): string[] =>
  Array.from({ length: EXCHANGES }, (_, nth) =>
    JSON.stringify({ jsonrpc: '2.0', id: nth, method, params: paramsOf(nth) }),
  )

const cases = (): Case[] => {
  const signed = Array.from({ length: EXCHANGES }, (_, nth) => signTransaction(nth))
  const textOf = (nth: number): string => signed[nth % EXCHANGES]?.base64 ?? ''
  const base64 = { encoding: 'base64' }
  const relayParams = (nth: number) => [
    [textOf(nth)],
    { ...base64, mevProtect: true, revertProtection: true },
  ]
  const engineParams = (nth: number) => [[textOf(nth)], base64]
  return [
    {
      name: '/lander',
      route: '/lander',
      direct: PATHS.transaction,
      bodies: callBodies('sendTransaction', nth => [textOf(nth), base64]),
    },
    {
      name: '/lander-submit-bundle of 4',
      route: '/lander-submit-bundle',
      direct: PATHS.bundle,
      bodies: callBodies('sendBundle', nth => [
        [nth, nth + 1, nth + 2, nth + 3].map(textOf),
        base64,
      ]),
    },
    {
      name: '/lander-submit-batch of 16',
      route: '/lander-submit-batch',
      direct: PATHS.batch,
      contentType: 'application/octet-stream',
      bodies: Array.from({ length: EXCHANGES / BATCH_RECORDS }, (_, nth) =>
        encodeBatch(signed.slice(nth * BATCH_RECORDS, (nth + 1) * BATCH_RECORDS)),
      ),
    },
    {
      name: '/relay',
      route: '/relay',
      direct: PATHS.iris,
      bodies: callBodies('sendBundle', relayParams),
      messages: callBodies('relay.sendBundle', relayParams),
    },
    {
      name: '/relay-bundle',
      route: '/relay-bundle',
      direct: PATHS.engine,
      bodies: callBodies('sendBundle', engineParams),
      messages: callBodies('relay-bundle.sendBundle', engineParams),
    },
  ]
}

/** Sends each body once; a failure ends the bench. Later replies are compared with these. */
const ask = async (target: Target, bodies: Case['bodies']): Promise<Exchange[]> => {
  const client = new Client(`http://127.0.0.1:${target.port}`)
  const exchanges: Exchange[] = []
  for (const body of bodies) {
    const response = await client.request({
      method: 'POST',
      path: target.path,
      headers: { 'content-type': target.contentType ?? 'application/json' },
      body: Buffer.from(body),
    })
    const reply = await response.body.text()
    if (response.statusCode !== 200 || !/"result":|"accepted":16/.test(reply))
      throw new Error(`${target.path.replace(/^.*\//, '/')}: ${response.statusCode} ${reply}`)
    const findings = response.headers['x-lander-findings']
    // The upstream here answers at once, and no answer waits for its checks.
    if (findings !== undefined && findings !== 'unchecked')
      throw new Error(`findings: ${String(findings)}`)
    exchanges.push({ body, reply })
  }
  await client.close()
  return exchanges
}

/** Different bundles for `/relay-bundle`. */
export const recordBundles = async (edge: Target): Promise<Exchange[]> => {
  const one = cases().find(({ route }) => route === '/relay-bundle')
  if (one === undefined) throw new Error('there are no bundles')
  const { route, bodies } = one
  const exchanges = await ask({ port: edge.port, path: `${edge.path}${route}` }, bodies)
  return exchanges.map(({ body, reply }) => ({ body, reply, route }))
}

/** The member of a reply that is another one each time. */
const SUBMISSION_ID = /(?<="x-relay-submission-id":")[^"]+/

/** The same by WebSocket, one message after the other. */
const askSocket = async ({ port, path }: Target, messages: readonly string[]) => {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`)
  await once(socket, 'open')
  const exchanges: Exchange[] = []
  for (const body of messages) {
    socket.send(body)
    const [{ data }] = (await once(socket, 'message')) as [{ data: unknown }]
    const reply = String(data)
    const id = SUBMISSION_ID.exec(reply)
    if (id === null || !reply.includes('"result":')) throw new Error(`by WebSocket: ${reply}`)
    exchanges.push({ body, reply, varying: [id.index, id.index + id[0].length] })
  }
  socket.close()
  return exchanges
}

export const probe = async (
  { plan }: Context,
  target: Target,
  exchanges: readonly Exchange[],
  requestsPerSecond: number,
  isBackground = false,
): Promise<Latency> => {
  const latency = await runJob<OpenLoop, Latency>('load-generators/open-loop.js', {
    target,
    exchanges,
    requestsPerSecond,
    connectionCount: OPEN_LOOP_CONNECTIONS,
    warmMs: plan.warmMs,
    durationMs: plan.openLoopMs,
    isBackground,
  })
  if (latency.failures > 0)
    throw new Error(`probe: ${latency.failures} requests failed: ${latency.failed.join('; ')}`)
  const wanted = (requestsPerSecond * plan.openLoopMs) / 1_000
  if (latency.count < SENT_AT_LEAST * wanted)
    throw new Error(`probe: ${latency.count} of ${wanted} requests were sent`)
  return latency
}

/** A way to submit, and what it has added to the latency of the upstream itself. */
export type Way = {
  readonly name: string
  readonly to: Target
  readonly costs: Record<keyof typeof ADDED, number[]>
  /** Of edge and sender, in milliseconds a request. */
  readonly cpuMs: number[]
  /** What a proxy adds that does nothing but forward is no target. */
  readonly isPeer?: boolean
}

export const createWay = (name: string, to: Target, isPeer = false): Way => ({
  ...{ name, to, isPeer },
  costs: { p50: [], p99: [] },
  cpuMs: [],
})

/** Ports of the upstream, and of a bare proxy before it. */
type Peers = { readonly upstreamPort: number; readonly proxyPort: number }

const added = async (
  context: Context,
  { name, route, direct, contentType, bodies, messages }: Case,
  { upstreamPort, proxyPort }: Peers,
): Promise<void> => {
  const edge = context.edge.target
  const type = contentType === undefined ? {} : { contentType }
  const toUpstream = { port: upstreamPort, path: direct, ...type }
  const toEdge = { port: edge.port, path: `${edge.path}${route}`, ...type }
  const directly = await ask(toUpstream, bodies)
  const through = await ask(toEdge, bodies)
  // First, so that the code of the sequential requests is compiled.
  await runClosedLoop(context, name, [toEdge, through])
  const ways: [Way, readonly Exchange[]][] = [
    [createWay(name, toEdge), through],
    [createWay(`${name} by a bare proxy`, { ...toUpstream, port: proxyPort }, true), directly],
  ]
  if (messages !== undefined) {
    const to = { port: edge.port, path: edge.path, isWebSocket: true }
    ways.push([createWay(`${name} by WebSocket`, to), await askSocket(to, messages)])
  }
  for (let round = 0; round < context.plan.rounds; round++) {
    const bare = await probe(context, toUpstream, directly, REQUESTS_PER_SECOND)
    for (const [way, exchanges] of ways) await addCosts(context, way, exchanges, bare)
  }
  for (const [way] of ways) reportAdded(context, way)
}

/** Measures one way once more. */
export const addCosts = async (
  context: Context,
  { to, costs, cpuMs }: Way,
  exchanges: readonly Exchange[],
  bare: Latency,
): Promise<void> => {
  const { edge, plan } = context
  const busyMs = (): number => (cpuMsOf(edge.pid) ?? NaN) + (cpuMsOf(edge.senderPid) ?? NaN)
  const beforeMs = busyMs()
  const whole = await probe(context, to, exchanges, REQUESTS_PER_SECOND)
  const count = (REQUESTS_PER_SECOND * (plan.warmMs + plan.openLoopMs)) / 1_000
  cpuMs.push((busyMs() - beforeMs) / count)
  for (const quantile of ['p50', 'p99'] as const)
    costs[quantile].push(whole[quantile] - bare[quantile])
}

export const reportAdded = (
  { report }: Context,
  { name, costs, cpuMs, isPeer = false }: Way,
): void => {
  for (const quantile of ['p50', 'p99'] as const)
    report({
      name: `${name}, added, ${quantile}`,
      value: median(costs[quantile]),
      unit: 'ms',
      better: 'lower',
      ...(!isPeer && { target: ADDED[quantile] }),
      isTail: true,
    })
  if (isPeer) return
  const value = median(cpuMs)
  report({ name: `${name}, processor time`, value, unit: 'ms', better: 'lower', isTail: true })
}

/** As much as autocannon gets answered on one route. */
const runClosedLoop = async (
  { plan, report, note }: Context,
  name: string,
  [target, exchanges]: readonly [Target, readonly Exchange[]],
): Promise<void> => {
  const result = await runJob<ClosedLoop, ClosedLoopResult>('load-generators/autocannon.js', {
    target,
    exchanges,
    connectionCount: CLOSED_LOOP_CONNECTIONS,
    warmMs: 1_000,
    durationMs: Math.max(1_000, plan.closedLoopMs),
  })
  const { wrong, lost, wrongAnswer = '' } = result
  if (wrong > 0) throw new Error(`${name}: ${wrong} wrong answers ${wrongAnswer}`)
  if (lost > 0) note(`autocannon lost ${lost} requests against ${name}`)
  report({
    name: `${name}, autocannon`,
    value: result.requestsPerSecond,
    unit: 'requests/s',
    better: 'higher',
  })
}

/** Submissions beside reads. */
type Load = { readonly one: Case; readonly perSecond: number; readonly noun: string }

/** Routes beside which reads are measured. */
const LOADS: Readonly<Record<string, Omit<Load, 'one'>>> = {
  '/lander-submit-batch': { perSecond: BATCHES_PER_SECOND, noun: 'batches' },
  '/relay-bundle': { perSecond: REQUESTS_PER_SECOND, noun: 'bundles' },
}

/**
 * Reads beside submissions whose signatures are all checked; and beside the same submissions to the
 * upstream itself, which shows what of it is the machine's. Who sends them takes no processor from
 * the reads: it would be another machine.
 */
const readsUnder = async (
  context: Context,
  { one: { route, direct, contentType, bodies }, perSecond, noun }: Load,
  [upstreamPort, edge]: readonly [number, Target],
): Promise<void> => {
  const type = contentType === undefined ? {} : { contentType }
  const toEdge = { port: edge.port, path: `${edge.path}${route}`, ...type }
  const exchanges = await ask(toEdge, bodies)
  const toUpstream = { ...toEdge, port: upstreamPort, path: direct }
  const ways = [
    { to: toEdge, exchanges, p99s: [] as number[], ratios: [] as number[] },
    {
      to: toUpstream,
      exchanges: await ask(toUpstream, bodies),
      p99s: [] as number[],
      ratios: [] as number[],
    },
  ] as const
  const idleP99s: number[] = []
  for (let round = 0; round < context.plan.rounds; round++) {
    const read = () => probe(context, edge, context.accountInfo, OPEN_LOOP_REQUESTS_PER_SECOND)
    const idle = await read()
    idleP99s.push(idle.p99)
    for (const { to, exchanges, p99s, ratios } of ways) {
      const load = probe(context, to, exchanges, perSecond, true)
      const [busy] = await Promise.all([read(), load])
      p99s.push(busy.p99)
      ratios.push(busy.p99 / idle.p99)
    }
  }
  const [through, beside] = ways
  const [idleMs, throughMs, besideMs] = [idleP99s, through.p99s, beside.p99s].map(p99s =>
    median(p99s).toFixed(2),
  )
  context.note(
    `getAccountInfo, p99: ${idleMs} ms idle, ${throughMs} ms under ${perSecond} ${noun}/s, ` +
      `${besideMs} ms beside as many to the upstream itself`,
  )
  const ratio = { unit: '×', better: 'lower', isTail: true } as const
  context.report({
    ...ratio,
    name: `getAccountInfo, p99 under ${perSecond} ${noun}/s / idle`,
    value: median(through.ratios),
    target: READS_OF_IDLE,
  })
  context.report({
    ...ratio,
    name: `getAccountInfo, p99 beside ${perSecond} ${noun}/s to the upstream itself / idle`,
    value: median(beside.ratios),
  })
}

/** Latency that submission routes add, and what strict checks cost a reader. */
export const benchSubmission = async (context: Context): Promise<void> => {
  const { edge, upstreamPort, note } = context
  const all = cases()
  const start = { upstreamPort }
  const bareProxy = await startChild<proxy.Start, proxy.Listening>('peers/proxy.js', start)
  note(`open loop, ${REQUESTS_PER_SECOND} requests/s to the upstream and to the edge in turn`)
  try {
    const peers = { upstreamPort, proxyPort: bareProxy.answer.port }
    for (const one of all) await added(context, one, peers)
  } finally {
    await bareProxy.stop()
  }
  for (const one of all) {
    const load = LOADS[one.route]
    if (load !== undefined) await readsUnder(context, { one, ...load }, [upstreamPort, edge.target])
  }
}
