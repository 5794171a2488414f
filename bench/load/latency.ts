// Latency of getAccountInfo at a fixed rate, with and without another client that pulls the largest
// pages.
import { recordExchanges } from '../data/record-exchanges.js'
import type { Context } from '../context.js'
import { OPEN_LOOP_REQUESTS_PER_SECOND, PAGE_LIMIT_MAX } from '../options.js'
import { pageReads } from '../data/pages.js'
import { median } from '../report/report.js'
import { measureBystander } from './bystander.js'

/** Target of docs/performance.md. */
const OF_IDLE = 1.5

/** Point reads while another client reads large pages. */
export const benchLatency = async (context: Context): Promise<void> => {
  const { edge, plan, expected, report, note } = context
  const [read] = pageReads(expected, PAGE_LIMIT_MAX, plan.history.changeBlocks)
  if (read === undefined) throw new Error('there is no page to pull')
  const { name, method, params } = read
  const exchanges = await recordExchanges(edge.target, [
    { name, method, params, result: read.result() },
  ])
  const rounds = await measureBystander(context, exchanges, OPEN_LOOP_REQUESTS_PER_SECOND)
  const pages = median(rounds.map(({ repliesPerSecond }) => repliesPerSecond))
  note(
    `open loop, ${OPEN_LOOP_REQUESTS_PER_SECOND} requests/s; ${plan.rounds} rounds of ` +
      `${plan.openLoopMs} ms in turn; the other client downloaded ${pages.toFixed(1)} pages/s`,
  )
  const quantiles = ['p50', 'p99', 'p999'] as const
  for (const [state, key] of [
    ['idle', 'idle'],
    ['under pages', 'beside'],
  ] as const)
    for (const quantile of quantiles)
      report({
        name: `getAccountInfo, ${state}, ${quantile}`,
        value: median(rounds.map(round => round[key][quantile])),
        unit: 'ms',
        better: 'lower',
        isTail: quantile !== 'p50',
      })
  report({
    name: 'getAccountInfo, p99 under pages / idle',
    value: median(rounds.map(({ idle, beside }) => beside.p99 / idle.p99)),
    unit: '×',
    better: 'lower',
    target: OF_IDLE,
  })
}
