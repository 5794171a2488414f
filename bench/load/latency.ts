// Latency of getAccountInfo at a fixed rate, with and without another client that pulls the largest
// pages.
import { askAll } from '../ask.js'
import { runJob } from '../child.js'
import type { Latency, Probe } from '../clients/probe.js'
import type { Pull, Pulled } from '../clients/pull.js'
import type { Context } from '../context.js'
import { PAGE_LIMIT_MAX, PROBE_CONNECTIONS, PROBE_REQUESTS_PER_SECOND } from '../options.js'
import { pageReads } from '../pages.js'
import { median } from '../report.js'

/** Target of docs/performance.md. */
const OF_IDLE = 2
/** The page client starts before the probe and ends after it. */
const AROUND_MS = 700

const probe = async ({ plan, edge, accountInfo }: Context): Promise<Latency> => {
  const latency = await runJob<Probe, Latency>('clients/probe.js', {
    target: edge.target,
    exchanges: accountInfo,
    requestsPerSecond: PROBE_REQUESTS_PER_SECOND,
    connectionCount: PROBE_CONNECTIONS,
    warmMs: plan.warmMs,
    durationMs: plan.probeMs,
  })
  if (latency.failures > 0) throw new Error(`probe: ${latency.failures} requests failed`)
  return latency
}

/** Point reads while another client reads large pages. */
export const benchLatency = async (context: Context): Promise<void> => {
  const { edge, plan, world, report, note } = context
  const [read] = pageReads(world, PAGE_LIMIT_MAX, plan.history.changeBlocks)
  if (read === undefined) throw new Error('there is no page to pull')
  const { name, method, params } = read
  const exchanges = await askAll(edge.target, [{ name, method, params, result: read.result() }])

  const idle: Latency[] = []
  const busy: Latency[] = []
  const pages: number[] = []
  for (let round = 0; round < plan.rounds; round++) {
    idle.push(await probe(context))
    const pulling = runJob<Pull, Pulled>('clients/pull.js', {
      target: edge.target,
      exchanges,
      connectionCount: 1,
      warmMs: 0,
      durationMs: plan.warmMs + plan.probeMs + 2 * AROUND_MS,
      isBackground: true,
    })
    await new Promise(resolve => setTimeout(resolve, AROUND_MS))
    busy.push(await probe(context))
    const pulled = await pulling
    if (pulled.failures > 0) throw new Error(`pages: ${pulled.failures} wrong answers`)
    pages.push(pulled.repliesPerSecond)
  }

  note(
    `open loop, ${PROBE_REQUESTS_PER_SECOND} requests/s; ${plan.rounds} rounds of ` +
      `${plan.probeMs} ms in turn; the other client pulled ${median(pages).toFixed(1)} pages/s`,
  )
  const quantiles = ['p50', 'p99', 'p999'] as const
  for (const [state, rounds] of [
    ['idle', idle],
    ['under pages', busy],
  ] as const)
    for (const quantile of quantiles)
      report({
        name: `getAccountInfo, ${state}, ${quantile}`,
        value: median(rounds.map(latency => latency[quantile])),
        unit: 'ms',
        better: 'lower',
        isTail: quantile !== 'p50',
      })
  report({
    name: 'getAccountInfo, p99 under pages / idle',
    value: median(busy.map((latency, round) => latency.p99 / (idle[round]?.p99 ?? NaN))),
    unit: '×',
    better: 'lower',
    target: OF_IDLE,
  })
}
