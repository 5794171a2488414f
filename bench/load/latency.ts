// Latency of getAccountInfo at a fixed rate, with and without another client that pulls the largest
// pages.
import { recordExchanges } from '../data/record-exchanges.js'
import { runJob } from '../child.js'
import type { Latency, OpenLoop } from '../load-generators/open-loop.js'
import type { Download, DownloadResult } from '../load-generators/download.js'
import type { Context } from '../context.js'
import { PAGE_LIMIT_MAX, OPEN_LOOP_CONNECTIONS, OPEN_LOOP_REQUESTS_PER_SECOND } from '../options.js'
import { pageReads } from '../data/pages.js'
import { median } from '../report/report.js'

/** Target of docs/performance.md. */
const OF_IDLE = 2
/** The page client starts before the probe and ends after it. */
const AROUND_MS = 700

const probe = async ({ plan, edge, accountInfo }: Context): Promise<Latency> => {
  const latency = await runJob<OpenLoop, Latency>('load-generators/open-loop.js', {
    target: edge.target,
    exchanges: accountInfo,
    requestsPerSecond: OPEN_LOOP_REQUESTS_PER_SECOND,
    connectionCount: OPEN_LOOP_CONNECTIONS,
    warmMs: plan.warmMs,
    durationMs: plan.openLoopMs,
  })
  if (latency.failures > 0) throw new Error(`probe: ${latency.failures} requests failed`)
  return latency
}

/** Point reads while another client reads large pages. */
export const benchLatency = async (context: Context): Promise<void> => {
  const { edge, plan, expected, report, note } = context
  const [read] = pageReads(expected, PAGE_LIMIT_MAX, plan.history.changeBlocks)
  if (read === undefined) throw new Error('there is no page to pull')
  const { name, method, params } = read
  const exchanges = await recordExchanges(edge.target, [
    { name, method, params, result: read.result() },
  ])

  const idle: Latency[] = []
  const busy: Latency[] = []
  const pages: number[] = []
  for (let round = 0; round < plan.rounds; round++) {
    idle.push(await probe(context))
    const downloading = runJob<Download, DownloadResult>('load-generators/download.js', {
      target: edge.target,
      exchanges,
      connectionCount: 1,
      warmMs: 0,
      durationMs: plan.warmMs + plan.openLoopMs + 2 * AROUND_MS,
      isBackground: true,
    })
    await new Promise(resolve => setTimeout(resolve, AROUND_MS))
    busy.push(await probe(context))
    const downloaded = await downloading
    if (downloaded.failures > 0) throw new Error(`pages: ${downloaded.failures} wrong answers`)
    pages.push(downloaded.repliesPerSecond)
  }

  note(
    `open loop, ${OPEN_LOOP_REQUESTS_PER_SECOND} requests/s; ${plan.rounds} rounds of ` +
      `${plan.openLoopMs} ms in turn; the other client downloaded ${median(pages).toFixed(1)} pages/s`,
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
