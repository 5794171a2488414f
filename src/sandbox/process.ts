import { randomBytes } from 'node:crypto'
import { publicUrlOf } from '../control/public-url.js'
import { sendMetrics, type Start } from '../processes/start.js'
import { openLog, type Log } from '../shared/log.js'
import { createMetrics } from '../shared/metrics.js'
import type { SandboxFlags } from './config.js'
import type { SandboxDetail } from './description.js'
import { openIdentityProvider } from './identity/provider.js'
import type { IdentityUser } from './identity/users.js'
import { portsFrom } from './ports.js'
import { type SandboxChain, startSandboxChain } from './sandbox-chain.js'
import { openBundleEngine } from './upstreams/bundle-engine.js'
import { CREDENTIALS } from './upstreams/credentials.js'
import { openDevLander } from './upstreams/lander.js'
import { openQuicLander } from './upstreams/quic-lander.js'

/** What the command passes to the process of the sandbox. */
export type SandboxOptions = {
  readonly flags: SandboxFlags
  /** Who can sign in; made by the command, so that a restart of the process keeps them. */
  readonly users: readonly IdentityUser[]
}

const openChain = ({ port, accountDir, ...flags }: SandboxFlags) => {
  const { geyser, rpc } = portsFrom(port)
  const { slotMs, finalizedAfterSlots, trafficPerSecond } = flags
  return startSandboxChain({
    geyser: { port: geyser },
    rpc: { port: rpc },
    slotMs,
    finalizedAfterSlots,
    trafficPerSecond,
    ...(accountDir === undefined ? {} : { accountDir }),
  })
}

const openUpstreams = async ({ chain, tips }: SandboxChain, { port }: SandboxFlags, log: Log) => {
  const ports = portsFrom(port)
  const [lander, engine] = await Promise.all([
    // Without a required key, so that clients can call the dev lander directly.
    openDevLander(chain, { port: ports.lander, tipAddresses: tips.lander, isKeyRequired: false }),
    openBundleEngine(chain, { port: ports.bundleEngine, tipAddresses: tips.engine }),
  ])
  const senders = (['lunar-lander', 'node1', 'nextblock', 'glaive', 'falcon'] as const).map(
    dialect => openQuicLander({ dialect, lander, log, port: ports.quic[dialect] }),
  )
  return { lander, engine, senders }
}

/** Starts the local upstreams: dev chain with feed and RPC, lander, bundle engines, identity. */
export const start: Start<'chain-provider'> = async ({ config, options }, send) => {
  process.title = 'slotline sandbox'
  const { flags, users } = options as SandboxOptions
  const { log, flush } = openLog('sandbox', config.log)
  const metrics = createMetrics('sandbox')
  const sandbox = await openChain(flags)
  const { lander, engine, senders } = await openUpstreams(sandbox, flags, log)
  const identity = await openIdentityProvider({
    port: portsFrom(flags.port).identity,
    users,
    ...CREDENTIALS.identity,
    redirectUris: [new URL('/callback', publicUrlOf(config)).href],
  })
  log.info({ geyserUrl: sandbox.geyserUrl, slotMs: flags.slotMs }, 'dev chain is running')
  const detail: SandboxDetail = {
    geyserUrl: sandbox.geyserUrl,
    upstreamRpcUrl: sandbox.rpc.url,
    landerUrl: lander.url,
    bundleEngineUrl: engine.url,
    issuer: identity.issuer,
    samples: sandbox.samples,
  }
  return {
    detail,
    chain: {
      // Random: two chains may have the same genesis hash by chance only.
      id: randomBytes(6).toString('hex'),
      endpoint: sandbox.geyserUrl,
      firstSlot: sandbox.chain.options.firstSlot,
    },
    onCommand: command => {
      if (command.kind === 'collectMetrics') void sendMetrics(metrics, send, command.call)
    },
    drain: async () => {
      for (const sender of senders) sender.close()
      await Promise.all([lander.close(), engine.close(), identity.close()])
      await sandbox.close()
      flush()
    },
  }
}
