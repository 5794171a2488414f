import { toConfig, type Config } from '../config/config.js'
import { CREDENTIALS } from './upstreams/credentials.js'
import { SANDBOX_SEED } from './solana/keypair.js'
import { deriveTips } from './upstreams/tips.js'
import type { IdentityUser } from './identity/users.js'

/** Flags of `slotline sandbox`. */
export type SandboxFlags = {
  readonly port: number
  readonly dataDir: string
  readonly accountDir?: string | undefined
  readonly trafficPerSecond: number
  readonly slotMs: number
  readonly edgeCount?: number | undefined
  /** Who can sign in; made by the command, so that a restart of the process keeps them. */
  readonly users?: readonly IdentityUser[] | undefined
}

const HOST = '127.0.0.1'

/**
 * Tip addresses of the lander itself; the others of its class are the service's (contract:
 * lander-tip-floor).
 */
const LANDER_OWN = 10

/** The one network of the sandbox. */
export const SANDBOX_NETWORK = 'sandbox'

/** Ports of the sandbox, counted from `--port` (docs/sandbox.md). */
export const layoutOf = (
  port: number,
): Readonly<
  Record<
    | 'fra'
    | 'nyc'
    | 'dashboard'
    | 'metrics'
    | 'geyser'
    | 'rpc'
    | 'lander'
    | 'bundleEngine'
    | 'identity',
    number
  >
> => ({
  fra: port,
  nyc: port + 2,
  dashboard: port + 4,
  metrics: port + 5,
  geyser: port + 6,
  rpc: port + 7,
  lander: port + 8,
  bundleEngine: port + 9,
  identity: port + 10,
})

/** Ports of the local upstreams, which no configuration names. */
export const upstreamListeners = (flags: SandboxFlags) => {
  const { geyser, rpc, lander, bundleEngine, identity } = layoutOf(flags.port)
  return [geyser, rpc, lander, bundleEngine, identity].map(port => ({ host: HOST, port }))
}

/** The configuration of a complete local deployment: two locations, loopback only. */
export const sandboxConfig = (flags: SandboxFlags): Config => {
  const ports = layoutOf(flags.port)
  const tips = deriveTips(SANDBOX_SEED)
  // web3.js derives the WebSocket port from an explicit HTTP port by adding one.
  const listeners = (port: number) => [
    { host: HOST, port },
    { host: HOST, port: port + 1 },
  ]
  const engine = { urls: [`http://${HOST}:${ports.bundleEngine}`], pingPath: '/ping' }
  const relay = {
    serviceTipAddresses: tips.service,
    engineTipAddresses: tips.engine,
    // The dev engines take whatever comes, and are there to be tried: load tests, too.
    requestsPerSecondMax: 100_000,
    requestsBurstMax: 100_000,
  }
  return toConfig({
    dataDir: flags.dataDir,
    networks: [
      {
        id: SANDBOX_NETWORK,
        name: 'Sandbox',
        feed: { endpoint: `http://${HOST}:${ports.geyser}` },
        rpc: { upstream: { urls: [`http://${HOST}:${ports.rpc}`], pingPath: '/ping' } },
        lander: {
          upstream: {
            urls: [`http://${HOST}:${ports.lander}`],
            credential: CREDENTIALS.lander,
          },
          tipAddresses: tips.lander.slice(0, LANDER_OWN),
          serviceTipAddresses: tips.lander.slice(LANDER_OWN),
          // Its lander is next door: whoever tries findings wants to see them each time.
          findingsWaitMs: 250,
        },
        relay: { ...relay, upstream: { ...engine, credential: CREDENTIALS.iris } },
        relayBundle: { ...relay, upstream: { ...engine, credential: CREDENTIALS.engine } },
      },
    ],
    locations: [
      {
        id: 'fra',
        name: 'Frankfurt',
        listeners: listeners(ports.fra),
        streamingTargets: [{ name: 'Yellowstone gRPC', url: `http://${HOST}:${ports.geyser}` }],
      },
      { id: 'nyc', name: 'New York', listeners: listeners(ports.nyc) },
    ],
    products: [{ id: 'node-access', name: 'Node access' }],
    trustedProxies: ['127.0.0.9'],
    metrics: { host: HOST, port: ports.metrics },
    dashboard: {
      host: HOST,
      port: ports.dashboard,
      identity: {
        issuer: `http://${HOST}:${ports.identity}`,
        clientId: CREDENTIALS.identity.clientId,
        clientSecret: CREDENTIALS.identity.clientSecret,
      },
    },
    ...(flags.edgeCount === undefined ? {} : { processes: { edgeCount: flags.edgeCount } }),
    log: { level: 'warn' },
  })
}
