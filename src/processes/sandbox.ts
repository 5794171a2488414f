import { randomBytes } from 'node:crypto'
import { startSandboxChain } from '../sandbox/sandbox-chain.js'
import { openLog } from '../shared/log.js'
import { createMetrics } from '../shared/metrics.js'
import { layoutOf } from './sandbox-config.js'
import type { Start } from './role.js'

/** The local upstreams: a dev chain behind a real Yellowstone server. */
export const startSandbox: Start = async ({ config, sandbox }, report) => {
  if (sandbox === undefined) throw new Error('the sandbox role needs its flags')
  const { log, flush } = openLog('sandbox', config.log)
  const metrics = createMetrics('sandbox')
  const world = await startSandboxChain({
    geyser: { port: layoutOf(sandbox.port).geyser },
    slotMs: sandbox.slotMs,
    trafficPerSecond: sandbox.trafficPerSecond,
    ...(sandbox.accountDir === undefined ? {} : { accountDir: sandbox.accountDir }),
  })
  log.info({ geyserUrl: world.geyserUrl, slotMs: sandbox.slotMs }, 'dev chain runs')
  return {
    detail: { geyserUrl: world.geyserUrl, samples: world.samples },
    devChain: {
      // Random, because a new chain begins with the same hashes as an old one only by chance.
      id: randomBytes(6).toString('hex'),
      endpoint: world.geyserUrl,
      firstSlot: world.chain.options.firstSlot,
    },
    onOrder: order => {
      if (order.kind === 'collect')
        void metrics
          .snapshot()
          .then(snapshot => report({ kind: 'snapshot', call: order.call, snapshot }))
    },
    drain: async () => {
      await world.close()
      flush()
    },
  }
}
