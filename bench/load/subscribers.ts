// From a slot of the feed, and from its commit, to the last byte of what a thousand subscribers of
// each kind receive of it: the real indexer, edge and process of gRPC at 1,500 transactions and
// 10,000 account writes a second. Sketch for a slot: 0.8 MB decoded and 2,000 accounts committed;
// 8 frames for each of 1,000 sockets in a few writes of 7 µs each, 2 updates for each of 1,000
// streams of gRPC, which 10 connections share.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import bs58 from 'bs58'
import type { Config } from '../../src/config/config.js'
import { cpuMsOf, runJob, startChild, type Child } from '../child.js'
import { machineMs } from '../clock.js'
import type { Context } from '../context.js'
import { DATA_BYTES, FIRST_SLOT, PAYERS, SLOT_MS, STILL, stillKey } from '../data/slot-messages.js'
import type { Exchange, Target } from '../load-generators/connection.js'
import type { Latency, OpenLoop } from '../load-generators/open-loop.js'
import { readNumbers, type Finish } from '../load-generators/slots/samples.js'
import {
  SOCKET_KINDS,
  type SlotSockets,
  type StopReading,
} from '../load-generators/slots/sockets.js'
import { STREAM_KINDS, type SlotStreams } from '../load-generators/slots/streams.js'
import type * as bare from '../peers/bare-cpp.js'
import type { Begin, SlotFeed } from '../peers/slot-feed.js'
import {
  benchConfig,
  createToken,
  forgetTurns,
  freePort,
  NETWORK,
  startEdge,
  startGeyser,
  startIndexer,
  type Edge,
} from '../service/deployment.js'

const SUBSCRIBERS = 1_000
const FEES_MAX = 2 * SUBSCRIBERS
const P99_MS_MAX = 5
/** p99 of point reads beside slots, of idle. */
const OF_IDLE = 1.2
const READS_PER_SECOND = 500
const READ_CONNECTIONS = 8
/** Slots before the measured ones: code is compiled, and the slow client is there. */
const WARM_SLOTS = 25
/** Slots after the measured ones, whose notifications may be late. */
const REST_SLOTS = 25
/** A client that reads nothing is closed within this (`not reading`, `lagging`). */
const CLOSED_MS_MAX = 10_000
const LOOK_MS = 100

const withFeed = async (config: Config, port: number, grpcPort: number): Promise<Config> => ({
  ...config,
  networks: config.networks.map(network => ({
    ...network,
    feed: {
      ...network.feed,
      endpoint: `http://127.0.0.1:${port}`,
      startSlot: FIRST_SLOT,
      transactions: 'full',
      // The first reads are measured while the source sends nothing.
      blockSilenceMs: 60_000,
    },
  })),
  locations: config.locations.map(location => ({
    ...location,
    listeners: location.listeners.map((one, at) => (at === 0 ? { ...one, grpcPort } : one)),
  })),
  // Otherwise 64 subscribers of fees and tips at an edge, each of which may be a read of its own.
  pubsub: { ...config.pubsub, accessReadsMax: FEES_MAX, readsMax: FEES_MAX },
})

/** Of accounts that no slot but the first writes; the replies are checked. */
const readsOf = async ({ port, path }: Target): Promise<readonly Exchange[]> => {
  const exchanges: Exchange[] = []
  for (let index = 0; index < STILL; index++) {
    const params = [bs58.encode(stillKey(index)), { encoding: 'base64' }]
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getAccountInfo', params })
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
    const reply = await answer.text()
    const { value } = JSON.parse(reply).result
    const isRight =
      value.lamports === 1_000_000_000 + FIRST_SLOT &&
      Buffer.from(value.data[0], 'base64').length === DATA_BYTES
    if (!isRight) throw new Error(`a wrong account: ${reply}`)
    exchanges.push({ body, reply, isOfAnySlot: true })
  }
  return exchanges
}

const measureReads = async (
  target: Target,
  exchanges: readonly Exchange[],
  durationMs: number,
): Promise<Latency> => {
  const latency = await runJob<OpenLoop, Latency>('load-generators/open-loop.js', {
    target,
    exchanges,
    requestsPerSecond: READS_PER_SECOND,
    connectionCount: READ_CONNECTIONS,
    warmMs: 500,
    durationMs,
  })
  if (latency.failures > 0) throw new Error(`${latency.failed.join()} point reads failed`)
  return latency
}

type BareServer = { readonly port: number; readonly exchanges: readonly Exchange[] }

/**
 * Where a bare server in C++ listens that sends one of these replies to every request and no
 * notification: what its reads wait beside slots is the machine, whose processors the clients of
 * all subscriptions share. Undefined where it cannot be compiled.
 */
const toBare = (
  answer: bare.Listening,
  reply: string,
  exchanges: readonly Exchange[],
): BareServer | undefined =>
  answer && { port: answer.port, exchanges: exchanges.map(one => ({ ...one, reply })) }

const measureBare = async (
  server: BareServer | undefined,
  durationMs: number,
): Promise<Latency | undefined> =>
  server && measureReads({ port: server.port, path: '/' }, server.exchanges, durationMs)

const reportReads = (
  { report }: Context,
  server: string,
  [idle, beside]: readonly (Latency | undefined)[],
  target?: number,
): void => {
  if (idle === undefined || beside === undefined) return
  const unit = { unit: 'ms', better: 'lower', isTail: true } as const
  report({ name: `${server} beside no slots, p99`, value: idle.p99, ...unit })
  report({ name: `${server} beside slots, p99`, value: beside.p99, ...unit })
  report({
    name: `${server}, p99 beside slots / idle`,
    value: beside.p99 / idle.p99,
    ...unit,
    unit: '×',
    ...(target !== undefined && { target }),
  })
}

const quantile = (sorted: Float64Array, share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN

/** Times of slots. */
type Times = ReadonlyMap<number, number>

/** Latencies of each kind since these times, in order; each kind has so many at least. */
const latenciesOf = (
  samples: Float64Array,
  kinds: readonly string[],
  since: Times,
  [first, end]: readonly [number, number],
): ReadonlyMap<string, Float64Array> => {
  const found = kinds.map((): number[] => [])
  for (let at = 0; at < samples.length; at += 3) {
    const [kind = 0, slot = 0, ms = 0] = samples.subarray(at, at + 3)
    const begin = since.get(slot)
    if (slot < first || slot >= end || begin === undefined) continue
    found[kind]?.push(ms - begin)
  }
  return new Map(
    kinds.map((name, kind) => [name, new Float64Array(found[kind] ?? []).sort()] as const),
  )
}

type Parts = {
  readonly edge: Edge
  readonly bareServer: BareServer | undefined
  readonly reads: readonly Exchange[]
  readonly feed: Child<{ readonly port: number }>
  readonly sockets: Child<null>
  readonly streams: Child<null>
  readonly committed: Map<number, number>
  /** Processes of the service, by name. */
  readonly pids: Readonly<Record<string, number>>
  readonly slotCount: number
  readonly files: Readonly<Record<'feed' | 'sockets' | 'streams', string>>
}

/** Resolves when the last message of a slot has been committed. */
const untilCommitted = async ({ committed }: Parts, slot: number): Promise<void> => {
  const lateMs = machineMs() + 60_000
  while (!committed.has(slot)) {
    if (machineMs() > lateMs) throw new Error(`slot ${slot} was not committed`)
    await sleep(LOOK_MS)
  }
}

const reportKinds = (
  { report }: Context,
  { committed, files }: Parts,
  range: readonly [number, number],
): void => {
  const sent = readNumbers(files.feed)
  const given = new Map<number, number>()
  for (let at = 0; at < sent.length; at += 2) given.set(sent[at] ?? 0, sent[at + 1] ?? 0)
  const [first, end] = range
  const commits = Array.from({ length: end - first }, (_, index) => {
    const slot = first + index
    return (committed.get(slot) ?? NaN) - (given.get(slot) ?? NaN)
  })
  const batch = new Float64Array(commits).sort()
  const unit = { unit: 'ms', better: 'lower' } as const
  for (const [name, share] of [
    ['p50', 0.5],
    ['p99', 0.99],
  ] as const)
    report({ name: `a slot to its commit, ${name}`, value: quantile(batch, share), ...unit })
  for (const [file, prefix, kinds] of [
    [files.sockets, '', SOCKET_KINDS],
    [files.streams, 'gRPC ', STREAM_KINDS],
  ] as const) {
    const samples = readNumbers(file)
    const fromFeed = latenciesOf(samples, kinds, given, range)
    const fromCommit = latenciesOf(samples, kinds, committed, range)
    for (const kind of kinds) {
      const [feed, commit] = [fromFeed.get(kind), fromCommit.get(kind)]
      if (feed === undefined || commit === undefined) continue
      const expected = kind === 'signature' ? SUBSCRIBERS : SUBSCRIBERS * (end - first)
      // Fees and tips of a slot are left out where the next one has come.
      const isWhole = kind === 'priorityFee' || kind === 'tip' || feed.length === expected
      if (!isWhole) throw new Error(`${feed.length} of ${expected} notifications of ${kind}`)
      const name = `${prefix}${kind} to each of ${SUBSCRIBERS} subscribers`
      for (const [quantileName, share] of [
        ['p50', 0.5],
        ['p99', 0.99],
      ] as const) {
        const isTail = share > 0.5
        const ofFeed = quantile(feed, share)
        report({ name: `${name}, from the feed, ${quantileName}`, value: ofFeed, ...unit, isTail })
        report({
          name: `${name}, from the commit, ${quantileName}`,
          value: quantile(commit, share),
          ...unit,
          ...(isTail && { target: P99_MS_MAX, isTail }),
        })
      }
    }
  }
}

const SLOW_CLOSES = /^slotline_websocket_closes_total\{[^}]*code="1013"[^}]*\} (\d+)$/m

/** How long it takes until so many clients have been closed that read nothing. */
const untilClosed = async (edge: Edge, count: number): Promise<number> => {
  const beganMs = machineMs()
  for (;;) {
    if (Number(SLOW_CLOSES.exec(await edge.metrics())?.[1] ?? 0) >= count)
      return machineMs() - beganMs
    if (machineMs() - beganMs > 3 * CLOSED_MS_MAX) throw new Error('a client is not closed')
    await sleep(LOOK_MS)
  }
}

const measure = async (context: Context, parts: Parts): Promise<void> => {
  const { note, plan, report } = context
  const { edge, bareServer, reads, feed, sockets, streams, files, slotCount } = parts
  const idle = await measureReads(edge.target, reads, plan.openLoopMs)
  const bareIdle = await measureBare(bareServer, plan.openLoopMs)
  await forgetTurns(edge)
  feed.send({ begin: true } satisfies Begin)
  await untilCommitted(parts, FIRST_SLOT + WARM_SLOTS - 10)
  sockets.send({ stopReading: true } satisfies StopReading)
  const first = FIRST_SLOT + WARM_SLOTS
  const end = first + plan.subscribedSlots
  await untilCommitted(parts, first)
  const processors = Object.entries(parts.pids).map(
    ([name, pid]) => [name, pid, cpuMsOf(pid) ?? NaN] as const,
  )
  await untilCommitted(parts, end)
  for (const [name, pid, before] of processors) {
    const value = ((cpuMsOf(pid) ?? NaN) - before) / (end - first)
    report({ name: `processor time of the ${name} a slot`, value, unit: 'ms', better: 'lower' })
  }
  await untilClosed(edge, 1)
  sockets.send({ stopReading: true } satisfies StopReading)
  const slowMs = await untilClosed(edge, 2)
  const beside = await measureReads(edge.target, reads, plan.openLoopMs)
  const bareBeside = await measureBare(bareServer, plan.openLoopMs)
  await untilCommitted(parts, FIRST_SLOT + slotCount - 1)
  for (const child of [sockets, streams]) child.send({ finish: true } satisfies Finish)
  while (![files.sockets, files.streams, files.feed].every(existsSync)) await sleep(LOOK_MS)
  note(
    `${end - first} slots of ${SLOT_MS} ms, each with ${PAYERS} transactions and 2,000 account ` +
      `writes, to ${SUBSCRIBERS} sockets with a subscription of each kind, and as many streams of ` +
      'gRPC over 10 connections',
  )
  reportKinds(context, parts, [first, end])
  const unit = { unit: 'ms', better: 'lower', isTail: true } as const
  const slow = 'a client that reads nothing, until it is closed'
  report({ name: slow, value: slowMs, ...unit, target: CLOSED_MS_MAX })
  reportReads(context, 'getAccountInfo', [idle, beside], OF_IDLE)
  reportReads(context, 'a bare server in C++', [bareIdle, bareBeside])
}

/** Subscribers of every kind at the rate of a busy chain. */
export const benchSubscribers = async (context: Context): Promise<void> => {
  const { dir, plan, upstreamPort } = context
  // Those of the slow client and of the point reads come after the measured ones.
  const readSlots = Math.ceil((CLOSED_MS_MAX + 2 * plan.openLoopMs + 6_000) / SLOT_MS)
  const slotCount = WARM_SLOTS + plan.subscribedSlots + readSlots + REST_SLOTS
  const files = {
    feed: join(dir, 'slots-sent'),
    sockets: join(dir, 'slots-sockets'),
    streams: join(dir, 'slots-streams'),
  }
  const started: { stop(): Promise<void> }[] = []
  const keep = <T extends { stop(): Promise<void> }>(one: T): T => {
    started.unshift(one)
    return one
  }
  try {
    const feed = keep(
      await startChild<SlotFeed, { readonly port: number }>('peers/slot-feed.js', {
        slotCount,
        file: files.feed,
      }),
    )
    const [base, grpcPort] = [
      await benchConfig(join(dir, 'subscribers'), upstreamPort),
      await freePort(),
    ]
    const config = await withFeed(base, feed.answer.port, grpcPort)
    const token = await createToken(config)
    const committed = new Map<number, number>()
    const others: { send(command: object): void }[] = []
    const indexer = keep(
      await startIndexer(config, event => {
        if (event.kind !== 'committed') return
        committed.set(event.slot, machineMs())
        for (const one of others) one.send({ ...event, network: NETWORK })
      }),
    )
    const edge = keep(await startEdge(config, token))
    const geyser = keep(await startGeyser(config))
    others.push({ send: command => edge.send(command as Parameters<Edge['send']>[0]) })
    others.push({ send: command => geyser.send(command as Parameters<Edge['send']>[0]) })
    const first = FIRST_SLOT + WARM_SLOTS
    const { port, path } = edge.target
    const sockets = keep(
      await startChild<SlotSockets, null>('load-generators/slots/sockets.js', {
        port,
        path,
        count: SUBSCRIBERS,
        signatureSlots: { first, count: plan.subscribedSlots },
        file: files.sockets,
      }),
    )
    const streams = keep(
      await startChild<SlotStreams, null>('load-generators/slots/streams.js', {
        port: grpcPort,
        token,
        count: SUBSCRIBERS,
        file: files.streams,
      }),
    )
    const reads = await readsOf(edge.target)
    const reply = reads[0]?.reply ?? ''
    const bareChild = keep(
      await startChild<bare.Start, bare.Listening>('peers/bare-cpp.js', { dir, reply }),
    )
    const bareServer = toBare(bareChild.answer, reply, reads)
    const pids = {
      indexer: indexer.pid,
      edge: edge.pid,
      'process of gRPC': geyser.pid,
      'client of sockets': sockets.pid,
      'client of gRPC': streams.pid,
    }
    const clients = { sockets, streams, reads }
    await measure(context, {
      ...clients,
      edge,
      bareServer,
      feed,
      committed,
      pids,
      slotCount,
      files,
    })
  } finally {
    for (const one of started) await one.stop()
  }
}
