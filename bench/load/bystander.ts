// Latency of single accounts beside another client that pulls large replies.
import { runJob } from '../child.js'
import type { Context } from '../context.js'
import type { Exchange } from '../load-generators/connection.js'
import type { Download, DownloadResult } from '../load-generators/download.js'
import type { Latency, OpenLoop } from '../load-generators/open-loop.js'
import { OPEN_LOOP_CONNECTIONS } from '../options.js'

/** The other client starts before the measured time and ends after it. */
const AROUND_MS = 700

const readAccounts = async (
  { plan, edge, accountInfo }: Context,
  requestsPerSecond: number,
): Promise<Latency> => {
  const latency = await runJob<OpenLoop, Latency>('load-generators/open-loop.js', {
    target: edge.target,
    exchanges: accountInfo,
    requestsPerSecond,
    connectionCount: OPEN_LOOP_CONNECTIONS,
    warmMs: plan.warmMs,
    durationMs: plan.openLoopMs,
  })
  if (latency.failures > 0) throw new Error(`bystander: ${latency.failures} requests failed`)
  return latency
}

/** What a bystander saw in one round, and how many replies the other client got. */
export type Round = {
  readonly idle: Latency
  readonly beside: Latency
  readonly repliesPerSecond: number
}

/** Rounds, each without the other client and with it. */
export const measureBystander = async (
  context: Context,
  exchanges: readonly Exchange[],
  requestsPerSecond: number,
): Promise<readonly Round[]> => {
  const { edge, plan } = context
  const rounds: Round[] = []
  for (let round = 0; round < plan.rounds; round++) {
    const idle = await readAccounts(context, requestsPerSecond)
    const downloading = runJob<Download, DownloadResult>('load-generators/download.js', {
      target: edge.target,
      exchanges,
      connectionCount: 1,
      warmMs: 0,
      durationMs: plan.warmMs + plan.openLoopMs + 2 * AROUND_MS,
      isBackground: true,
    })
    await new Promise(resolve => setTimeout(resolve, AROUND_MS))
    const beside = await readAccounts(context, requestsPerSecond)
    const { failures, repliesPerSecond } = await downloading
    if (failures > 0) throw new Error(`${failures} large replies were wrong`)
    rounds.push({ idle, beside, repliesPerSecond })
  }
  return rounds
}
