// What a cluster adds to a point read: the lease of a machine by itself never ends, that of a
// machine of a cluster is compared with the boot clock at each request. The same edge serves both
// in turn, so that nothing else differs; the order of each pair alternates.
import { bootMs } from '../../src/native/os.js'
import { openSharedMemory } from '../../src/supervision/shared-memory.js'
import { cpuMsOf, runJob } from '../child.js'
import type { Context } from '../context.js'
import type { ClosedLoop, ClosedLoopResult } from '../load-generators/closed-loop.js'
import { CLOSED_LOOP_CONNECTIONS } from '../options.js'
import { median } from '../report/report.js'

/** Target of docs/performance.md. */
const OF_SINGLE = 0.99
const PAIRS_PER_ROUND = 4
const HOUR_MS = 3_600_000

type Measured = { readonly perSecond: number; readonly perCpuSecond: number }

export const benchCluster = async (context: Context): Promise<void> => {
  const { accountInfo, config, edge, plan, report } = context
  const shared = openSharedMemory(config.dataDir)
  const measure = async (leaseEndMs: number): Promise<Measured> => {
    shared.setLeaseEnd(leaseEndMs)
    const before = cpuMsOf(edge.pid) ?? NaN
    const result = await runJob<ClosedLoop, ClosedLoopResult>('load-generators/closed-loop.js', {
      target: edge.target,
      exchanges: accountInfo,
      connectionCount: CLOSED_LOOP_CONNECTIONS,
      warmMs: plan.warmMs,
      durationMs: plan.closedLoopMs,
    })
    if (result.wrong > 0) throw new Error(`cluster: ${result.wrong} wrong replies`)
    const cpuMs = (cpuMsOf(edge.pid) ?? NaN) - before
    return {
      perSecond: result.requestsPerSecond,
      perCpuSecond: result.answered / (cpuMs / 1_000),
    }
  }
  const pairs: { readonly single: Measured; readonly leased: Measured }[] = []
  for (let pair = 0; pair < plan.rounds * PAIRS_PER_ROUND; pair++) {
    const isFirst = pair % 2 === 0
    const first = await measure(isFirst ? Infinity : bootMs() + HOUR_MS)
    const second = await measure(isFirst ? bootMs() + HOUR_MS : Infinity)
    pairs.push(isFirst ? { single: first, leased: second } : { single: second, leased: first })
  }
  shared.setLeaseEnd(Infinity)
  for (const [what, key] of [
    ['requests for each second of processor time', 'perCpuSecond'],
    ['requests/s', 'perSecond'],
  ] as const)
    report({
      name: `cluster: getAccountInfo with a lease / without, ${what}`,
      value: median(pairs.map(({ leased, single }) => leased[key] / single[key])),
      unit: 'ratio',
      better: 'higher',
      target: OF_SINGLE,
    })
}
