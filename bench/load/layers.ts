import { cpuMsOf, runJob, startChild } from '../child.js'
import type { Exchange } from '../load-generators/connection.js'
import type { ClosedLoop, ClosedLoopResult } from '../load-generators/closed-loop.js'
import type { Context } from '../context.js'
import type { Server } from '../service/deployment.js'
import { CLOSED_LOOP_CONNECTIONS } from '../options.js'
import type * as layer from '../peers/layer.js'
import { LAYERS } from '../peers/layers.js'
import { median } from '../report/report.js'

type Stage = { readonly name: string; readonly server: Server; readonly isReal: boolean }

/** Bound of the total cost of authentication and limits per request. */
const ACCESS_MICROS = 1.5

/** Processor time of one getAccountInfo in the server, as more and more of the edge takes part. */
export const benchLayers = async (context: Context): Promise<void> => {
  const { plan, edge, config, storeDir, accountInfo, report, note } = context
  const reply = accountInfo[0]?.reply ?? ''
  // All replies are of one length: servers without native reads always send the first.
  const sameReply: Exchange[] = accountInfo.map(({ body }) => ({ body, reply }))
  const children = []
  const stages: Stage[] = []
  try {
    for (const name of LAYERS) {
      const start = { layer: name, config, storeDir, reply }
      const child = await startChild<layer.Start, layer.Listening>('peers/layer.js', start)
      children.push(child)
      const target = { port: child.answer.port, path: edge.target.path }
      const isReal = name === 'bare + native reads' || name === 'all but rpc'
      stages.push({ name, server: { pid: child.pid, target }, isReal })
    }
    stages.push({ name: 'the edge', server: edge, isReal: true })
    const micros = new Map(stages.map(({ name }) => [name, [] as number[]]))
    for (let round = 0; round < plan.rounds; round++)
      for (const { name, server, isReal } of stages) {
        const before = cpuMsOf(server.pid) ?? NaN
        const result = await runJob<ClosedLoop, ClosedLoopResult>(
          'load-generators/closed-loop.js',
          {
            target: server.target,
            exchanges: isReal ? accountInfo : sameReply,
            connectionCount: CLOSED_LOOP_CONNECTIONS,
            warmMs: plan.warmMs,
            durationMs: plan.closedLoopMs,
          },
        )
        if (result.wrong + result.lost > 0)
          throw new Error(`${name}: ${result.wrong} wrong and ${result.lost} lost replies`)
        const cpuMs = (cpuMsOf(server.pid) ?? NaN) - before
        micros.get(name)?.push((cpuMs * 1000) / result.answered)
      }
    note(`processor time in the server per request, including system time; ${plan.rounds} rounds`)
    for (const [name, values] of micros)
      report({ name: `layers: ${name}`, value: median(values), unit: 'µs', better: 'lower' })
    const of = (name: string): number => median(micros.get(name) ?? [])
    report({
      name: 'layers: authentication, limits and counters',
      value: of('server + access') - of('server'),
      unit: 'µs',
      better: 'lower',
      target: ACCESS_MICROS,
    })
  } finally {
    await Promise.all(children.map(child => child.stop()))
  }
}
