import { randomBytes } from 'node:crypto'
import { openBundleEngine } from './upstreams/bundle-engine.js'
import { CREDENTIALS } from './upstreams/credentials.js'
import { openIdentityProvider } from './identity/provider.js'
import { openLander } from './upstreams/lander.js'
import { startSandboxChain } from './sandbox-chain.js'
import { openLog } from '../shared/log.js'
import { createMetrics } from '../shared/metrics.js'
import { publicUrlOf } from '../control/public-url.js'
import { sendMetrics } from '../processes/send-metrics.js'
import { layoutOf, type SandboxFlags } from './config.js'
import type { Start } from '../processes/role.js'

/**
 * The local upstreams: a dev chain behind a real Yellowstone server, a lander, bundle engines, an
 * identity provider.
 */
export const start: Start = async ({ config, guest }, send) => {
  process.title = 'slotline sandbox'
  const sandbox = guest?.options as SandboxFlags
  const { log, flush } = openLog('sandbox', config.log)
  const metrics = createMetrics('sandbox')
  const ports = layoutOf(sandbox.port)
  const chainServices = await startSandboxChain({
    geyser: { port: ports.geyser },
    rpc: { port: ports.rpc },
    slotMs: sandbox.slotMs,
    trafficPerSecond: sandbox.trafficPerSecond,
    ...(sandbox.accountDir === undefined ? {} : { accountDir: sandbox.accountDir }),
  })
  const { chain, tips } = chainServices
  const lander = await openLander(chain, {
    port: ports.lander,
    tipAddresses: tips.lander,
    // Whoever wants to compare calls the dev lander directly, and has no key.
    isKeyRequired: false,
  })
  const engine = await openBundleEngine(chain, {
    port: ports.bundleEngine,
    tipAddresses: tips.engine,
  })
  const identity = await openIdentityProvider({
    port: ports.identity,
    users: sandbox.users ?? [],
    ...CREDENTIALS.identity,
    redirectUris: [new URL('/callback', publicUrlOf(config)).href],
  })
  log.info({ geyserUrl: chainServices.geyserUrl, slotMs: sandbox.slotMs }, 'dev chain runs')
  return {
    detail: {
      geyserUrl: chainServices.geyserUrl,
      upstreamRpcUrl: chainServices.rpc.url,
      landerUrl: lander.url,
      bundleEngineUrl: engine.url,
      issuer: identity.issuer,
      samples: chainServices.samples,
    },
    chain: {
      // Random, because a new chain begins with the same hashes as an old one only by chance.
      id: randomBytes(6).toString('hex'),
      endpoint: chainServices.geyserUrl,
      firstSlot: chain.options.firstSlot,
    },
    onCommand: command => {
      if (command.kind === 'collectMetrics') void sendMetrics(metrics, send, command.call)
    },
    drain: async () => {
      await Promise.all([lander.close(), engine.close(), identity.close()])
      await chainServices.close()
      flush()
    },
  }
}
