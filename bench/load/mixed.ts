// A day of mixed use in short: point reads, batches, pages and bundles at half of what the edge can
// answer of that mix, while blocks are applied and subscribers are notified.
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import bs58 from 'bs58'
import { openIndexer, type Indexer } from '../../src/native/indexer.js'
import { runJob, startChild } from '../child.js'
import type { Context } from '../context.js'
import { sampleTokens, tokenPubkey } from '../data/data.js'
import {
  blockAt,
  BLOCKS_PER_SECOND,
  clusterWrites,
  USER_WRITES,
  VOTE_WRITES,
} from '../data/expected-state.js'
import { pageReads } from '../data/pages.js'
import { recordExchanges } from '../data/record-exchanges.js'
import type { ClosedLoop, ClosedLoopResult } from '../load-generators/closed-loop.js'
import type { Exchange } from '../load-generators/connection.js'
import type { MachineStalls, MachineStallsResult } from '../load-generators/machine-stalls.js'
import type { Latency, OpenLoop } from '../load-generators/open-loop.js'
import type { Subscribers } from '../load-generators/subscribers.js'
import {
  CLOSED_LOOP_CONNECTIONS,
  OPEN_LOOP_CONNECTIONS,
  PAGE_LIMIT_DEFAULT,
  SAMPLE_COUNT,
  STORE_OPTIONS,
} from '../options.js'
import { forgetTurns, longestTurnMs, NETWORK, type Edge } from '../service/deployment.js'
import { recordBundles } from './submission.js'

/** Of twenty requests, so many are of each kind. */
const MIX = { points: 16, batches: 2, pages: 1, bundles: 1 } as const
const IN_ALL = 20
const BATCH_CALLS = 10
const BLOCK_EVERY_MS = 1_000 / BLOCKS_PER_SECOND
const SUBSCRIPTIONS = 2_000
const SUBSCRIBED_SOCKETS = 100
const OF_CAPACITY = 0.5
/** Two clients that start take the processors from each other; what is overdue is sent first. */
const WARM_MS = 5_000

/** Targets of docs/performance.md. */
const TURN_MS_MAX = 5
const MEMORY_GROWTH_MAX = 1.1
const MEMORY_SAMPLE_MS = 1_000

/** Memory of its own: pages of the store that are mapped are not in it. */
const ownBytes = (pid: number): number => {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1')
  return Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1] ?? NaN) * 1024
}

/**
 * Samples the memory of a process. The returned function gives the maximum of the second half of
 * the time divided by that of the first: V8 collects its old generation about once a minute, and
 * grows until then.
 */
const watchMemory = (pid: number): (() => number) => {
  const seen: number[] = []
  const timer = setInterval(() => seen.push(ownBytes(pid)), MEMORY_SAMPLE_MS).unref()
  return () => {
    clearInterval(timer)
    const half = seen.length / 2
    return Math.max(...seen.slice(half)) / Math.max(...seen.slice(0, half))
  }
}

/** Applies a block each slot, whose accounts no read of the mix is about. */
const applyBlocks = ({ expected, plan, storeDir }: Context, edge: Edge) => {
  const { set } = expected
  const keyOf = (index: number): string => tokenPubkey(set, index).toString('latin1')
  const read = new Set(sampleTokens(set, SAMPLE_COUNT).map(keyOf))
  const indexer: Indexer = openIndexer(storeDir, STORE_OPTIONS)
  let nth = plan.history.changeBlocks
  const timer = setInterval(() => {
    nth += 1
    const slot = expected.slotOfChange(nth)
    const writes = clusterWrites(set, nth, { version: nth, slot })
    const accounts = writes.filter(({ pubkey }) => !read.has(pubkey.toString('latin1')))
    indexer.applyBlock(blockAt(set, slot, accounts))
    edge.send({ kind: 'committed', network: NETWORK, slot })
  }, BLOCK_EVERY_MS)
  return {
    stop: (): void => {
      clearInterval(timer)
      indexer.close()
    },
  }
}

const pageExchanges = async ({ edge, expected, plan }: Context): Promise<Exchange[]> => {
  // Blocks change token accounts only.
  const pools = pageReads(expected, PAGE_LIMIT_DEFAULT, plan.history.changeBlocks).find(
    ({ name }) => name === 'another program',
  )
  if (pools === undefined) throw new Error('there is no page of another program')
  return recordExchanges(edge.target, [{ ...pools, result: pools.result() }])
}

/** The requests of the mix, point reads apart. */
const mixOf = async (context: Context) => {
  const points: Exchange[] = context.accountInfo.map(({ body, reply }) => ({
    body,
    reply,
    isOfAnySlot: true,
  }))
  const batch = (first: number): Exchange => {
    const calls = points.slice(first * BATCH_CALLS, (first + 1) * BATCH_CALLS)
    return {
      body: `[${calls.map(({ body }) => String(body)).join()}]`,
      reply: `[${calls.map(({ reply }) => reply).join()}]`,
      isOfAnySlot: true,
    }
  }
  const pages = await pageExchanges(context)
  const bundles = await recordBundles(context.edge.target)
  const others = bundles.flatMap((bundle, nth) => [
    ...Array.from({ length: MIX.batches }, (_, at) => batch(nth * MIX.batches + at)),
    ...pages,
    bundle,
  ])
  const perRound = IN_ALL - MIX.points
  const all = bundles.flatMap((_, nth) =>
    points
      .slice(nth * MIX.points, (nth + 1) * MIX.points)
      .concat(others.slice(nth * perRound, (nth + 1) * perRound)),
  )
  return { points, others, all }
}

const measureCapacity = async (
  { edge, plan }: Context,
  exchanges: readonly Exchange[],
): Promise<number> => {
  const { requestsPerSecond, wrong, lost } = await runJob<ClosedLoop, ClosedLoopResult>(
    'load-generators/closed-loop.js',
    {
      target: edge.target,
      exchanges,
      connectionCount: CLOSED_LOOP_CONNECTIONS,
      warmMs: plan.warmMs,
      durationMs: plan.closedLoopMs,
    },
  )
  if (wrong + lost > 0) throw new Error(`the mix: ${wrong} wrong and ${lost} lost replies`)
  return requestsPerSecond
}

const runOpenLoop = (
  { edge, plan }: Context,
  exchanges: readonly Exchange[],
  requestsPerSecond: number,
): Promise<Latency> =>
  runJob<OpenLoop, Latency>('load-generators/open-loop.js', {
    target: edge.target,
    exchanges,
    requestsPerSecond,
    connectionCount: OPEN_LOOP_CONNECTIONS,
    warmMs: WARM_MS,
    durationMs: plan.mixedMs,
  })

/** Stalls of the machine itself, which latencies and turns of the same time contain. */
const measureStalls = async ({ plan }: Context): Promise<MachineStallsResult[]> => {
  const durationMs = WARM_MS + plan.mixedMs
  const processors = Array.from({ length: availableParallelism() }, (_, nth) => nth)
  return Promise.all(
    processors.map(processor =>
      runJob<MachineStalls, MachineStallsResult>('load-generators/machine-stalls.js', {
        processor,
        durationMs,
      }),
    ),
  )
}

const reportStalls = ({ note }: Context, results: readonly MachineStallsResult[]): void => {
  const known = results.filter(result => result !== undefined)
  if (known.length < results.length) return note('stalls of the machine: not permitted')
  const texts = known.map(
    ({ longestMs, longCount, worstSecondMs }) =>
      `${longestMs.toFixed(1)} ms (${longCount}, in one second ${worstSecondMs.toFixed(0)} ms)`,
  )
  note(`longest stall of each processor, and those over 5 ms: ${texts.join(', ')}`)
}

const reportLatency = ({ report, note }: Context, name: string, latency: Latency): void => {
  for (const text of latency.failed) note(`${name}, failed: ${text}`)
  report({
    name: `mixed: ${name}, failed`,
    value: latency.failures,
    unit: 'requests',
    better: 'lower',
    target: 0,
  })
  for (const quantile of ['p50', 'p99', 'p999'] as const)
    report({
      name: `mixed: ${name}, ${quantile}`,
      value: latency[quantile],
      unit: 'ms',
      better: 'lower',
      isTail: true,
    })
}

/** Latencies, the longest turn of the event loop, and growth of memory under a mix of requests. */
export const benchMixed = async (context: Context): Promise<void> => {
  const { edge, expected, plan, report, note } = context
  const mix = await mixOf(context)
  const read = new Set(sampleTokens(expected.set, SAMPLE_COUNT))
  const busy = Array.from({ length: 2 * SUBSCRIPTIONS }, (_, index) => index)
  const pubkeys = busy
    .filter(index => !read.has(index))
    .slice(0, SUBSCRIPTIONS)
    .map(index => bs58.encode(tokenPubkey(expected.set, index)))
  const blocks = applyBlocks(context, edge)
  const subscribers = await startChild<Subscribers, null>('load-generators/subscribers.js', {
    target: edge.target,
    sockets: SUBSCRIBED_SOCKETS,
    pubkeys,
  })
  try {
    const capacity = await measureCapacity(context, mix.all)
    const perSecond = capacity * OF_CAPACITY
    const ofPoints = MIX.points / IN_ALL
    note(
      `${Math.round(capacity)} requests/s of the mix at most; ${Math.round(perSecond)} for ` +
        `${plan.mixedMs / 1_000} s, beside ${BLOCKS_PER_SECOND} blocks a second of ` +
        `${USER_WRITES} accounts and ${VOTE_WRITES} vote accounts, and ${SUBSCRIPTIONS} subscriptions`,
    )
    await forgetTurns(edge)
    const memoryGrowth = watchMemory(edge.pid)
    const [stalls, points, others] = await Promise.all([
      measureStalls(context),
      runOpenLoop(context, mix.points, perSecond * ofPoints),
      runOpenLoop(context, mix.others, perSecond * (1 - ofPoints)),
    ])
    const growth = memoryGrowth()
    if (!subscribers.isRunning()) throw new Error('the edge has closed a subscriber')
    reportStalls(context, stalls)
    reportLatency(context, 'point reads', points)
    reportLatency(context, 'batches, pages and bundles', others)
    report({
      name: 'mixed: longest turn of the event loop, processor time',
      value: await longestTurnMs(edge),
      unit: 'ms',
      better: 'lower',
      target: TURN_MS_MAX,
      isTail: true,
    })
    report({
      name: 'mixed: maximum of memory, second half of the time / first half',
      value: growth,
      unit: '×',
      better: 'lower',
      target: MEMORY_GROWTH_MAX,
      isTail: true,
    })
  } finally {
    await subscribers.stop()
    blocks.stop()
  }
}
