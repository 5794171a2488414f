// What TLS adds to a point read, and what a handshake and an idle connection cost the edge.
import { cpuMsOf, runJob } from '../child.js'
import type { Context } from '../context.js'
import type { Handshakes, HandshakesResult } from '../load-generators/handshakes.js'
import type { IdleConnections, IdleConnectionsResult } from '../load-generators/idle-connections.js'
import type { Case, Sequential, SequentialResult } from '../load-generators/sequential.js'
import { median } from '../report/report.js'
import { KEYS } from '../service/deployment.js'

const ROUND_REQUESTS = 2_000
/** Processor time is counted in steps of 10 ms. */
const HANDSHAKES = 1_000
const QUICK_HANDSHAKES = 100
/** Twice as many are open at the end. */
const IDLE_CONNECTIONS = 2_000

const reportReads = async ({ accountInfo, edge, plan, report }: Context, port: number) => {
  const cases: readonly Case[] = [{ exchanges: accountInfo, roundRequests: ROUND_REQUESTS }]
  const { target } = edge
  const [plain, tls] = await runJob<Sequential, SequentialResult>('load-generators/sequential.js', {
    servers: [
      { target, cases },
      { target: { ...target, port, isTls: true }, cases },
    ],
    rounds: plan.rounds,
  })
  const p50 = (of: SequentialResult[number] | undefined): number =>
    median((of?.[0] ?? []).map(times => times.p50))
  const unit = 'µs'
  report({ name: 'tls: getAccountInfo, plain, p50', value: p50(plain), unit, better: 'lower' })
  report({ name: 'tls: getAccountInfo, TLS, p50', value: p50(tls), unit, better: 'lower' })
  const added = (tls?.[0] ?? []).map(
    (times, round) => times.p50 - (plain?.[0]?.[round]?.p50 ?? NaN),
  )
  const name = 'tls: added to getAccountInfo, p50, the client’s part included'
  report({ name, value: median(added), unit, better: 'lower', isTail: true })
}

const reportHandshakes = async ({ edge, plan, report }: Context, handshakes: Handshakes) => {
  const before = cpuMsOf(edge.pid) ?? NaN
  const { p50 } = await runJob<Handshakes, HandshakesResult>(
    'load-generators/handshakes.js',
    handshakes,
  )
  const cpuMs = ((cpuMsOf(edge.pid) ?? NaN) - before) / handshakes.count
  const kind = `${handshakes.host.replace('.example', '')}${handshakes.isResumed ? ', resumed' : ''}`
  const isTail = plan.rounds === 1
  report({ name: `tls: handshake, ${kind}, p50`, value: p50, unit: 'ms', better: 'lower', isTail })
  report({
    name: `tls: handshake, ${kind}, processor time of the edge`,
    value: cpuMs,
    unit: 'ms',
    better: 'lower',
    isTail: true,
  })
}

const reportIdle = async ({ edge, report }: Context, isTls: boolean, port: number) => {
  const { rssBytes } = await runJob<IdleConnections, IdleConnectionsResult>(
    'load-generators/idle-connections.js',
    { port, pid: edge.pid, count: IDLE_CONNECTIONS, isTls },
  )
  report({
    name: `tls: an idle connection, ${isTls ? 'TLS' : 'plain'}`,
    value: rssBytes,
    unit: 'bytes',
    better: 'lower',
    isTail: true,
  })
}

export const benchTls = async (context: Context): Promise<void> => {
  const port = context.config.locations[0]?.listeners[1]?.port ?? 0
  await reportReads(context, port)
  const count = context.plan.rounds === 1 ? QUICK_HANDSHAKES : HANDSHAKES
  for (const key of Object.keys(KEYS))
    await reportHandshakes(context, { port, host: `${key}.example`, count, isResumed: false })
  await reportHandshakes(context, { port, host: 'p-256.example', count, isResumed: true })
  await reportIdle(context, false, context.edge.target.port)
  await reportIdle(context, true, port)
}
