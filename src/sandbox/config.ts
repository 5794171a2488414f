import { join } from 'node:path'
import { toConfig, type Config } from '../config/config.js'
import { FIRST_SLOT } from './chain/block.js'
import { CREDENTIALS } from './upstreams/credentials.js'
import { SANDBOX_CLUSTER } from './machines/ensure-cluster.js'
import { machinesOf } from './machines/machines.js'
import { portsFrom, type Ports } from './ports.js'
import { SANDBOX_SEED } from './solana/keypair.js'
import { SANDBOX_OPERATOR } from './identity/users.js'
import { deriveTips, type Tips } from './upstreams/tips.js'

/** Flags of `slotline sandbox`. */
export type SandboxFlags = {
  readonly port: number
  readonly dataDir: string
  readonly accountDir?: string | undefined
  readonly trafficPerSecond: number
  readonly slotMs: number
  readonly finalizedAfterSlots: number
  readonly edgeCount?: number | undefined
  /** Machines that share their accesses; a machine by itself where it is absent. */
  readonly machines?: number | undefined
}

const HOST = '127.0.0.1'

/**
 * Number of tip addresses of the lander itself; the others of its class are the service's
 * (contract: lander-tip-floor).
 */
const LANDER_TIP_COUNT = 10

/** The one network of the sandbox. */
export const SANDBOX_NETWORK = 'sandbox'

const urlOf = (port: number): string => `http://${HOST}:${port}`

/** The listeners of the sandbox's own process, which the configuration does not name. */
export const upstreamListeners = (flags: SandboxFlags) => {
  const { geyser, rpc, lander, bundleEngine, identity } = portsFrom(flags.port)
  return [geyser, rpc, lander, bundleEngine, identity].map(port => ({ host: HOST, port }))
}

/** Lanes to the routes of the dev lander: over HTTP/1.1, over HTTP/2, and over QUIC. */
const lanesOf = (ports: Ports, tipAddresses: readonly string[]) => {
  const lane = {
    credential: CREDENTIALS.lander,
    pingPath: '/ping',
    tipAddresses: [...tipAddresses],
    // Not those of real senders: the sandbox is used for load tests.
    requestsPerSecondMax: 100_000,
  }
  const url = urlOf(ports.lander)
  const inQuery = { credentialIn: 'query', credentialName: 'c' }
  return [
    { ...lane, id: 'json-rpc', kind: 'jsonrpc', url: `${url}/send`, transactionBytesMax: 4_096 },
    {
      ...{ ...lane, id: 'octets', kind: 'octets', httpVersion: '2', isProtected: true },
      url: `${url}/send-bin`,
    },
    { ...lane, ...inQuery, id: 'text', kind: 'text', url: `${url}/api/sendTransaction2` },
    {
      ...{ ...lane, pingPath: '', id: 'quic', kind: 'quic-frame', preset: 'lunar-lander' },
      url: `quic://${HOST}:${ports.quic['lunar-lander']}`,
      transactionBytesMax: 4_096,
    },
  ]
}

const networkOf = (ports: Ports, tips: Tips) => {
  const engine = { urls: [urlOf(ports.bundleEngine)], pingPath: '/ping' }
  const relay = {
    serviceTipAddresses: tips.service,
    engineTipAddresses: tips.engine,
    // Not the limits of the real engines: the sandbox is used for load tests.
    requestsPerSecondMax: 100_000,
    requestsBurstMax: 100_000,
    statusesPerSecondMax: 100_000,
    statusesBurstMax: 100_000,
  }
  return {
    id: SANDBOX_NETWORK,
    name: 'Sandbox',
    explorerUrl: 'https://explorer.solana.com/tx/{signature}?cluster=custom',
    // Of a machine that has no chain provider: the chain from its first block on.
    feed: { endpoint: urlOf(ports.geyser), startSlot: FIRST_SLOT, transactions: 'fullAndEntries' },
    rpc: { upstream: { urls: [urlOf(ports.rpc)], pingPath: '/ping' } },
    lander: {
      upstream: { urls: [urlOf(ports.lander)], credential: CREDENTIALS.lander },
      tipAddresses: tips.lander.slice(0, LANDER_TIP_COUNT),
      serviceTipAddresses: tips.lander.slice(LANDER_TIP_COUNT),
      // Long enough for the findings of every request to arrive in time.
      findingsWaitMs: 250,
    },
    lanes: lanesOf(ports, tips.lander),
    relay: { ...relay, upstream: { ...engine, credential: CREDENTIALS.iris } },
    relayBundle: { ...relay, upstream: { ...engine, credential: CREDENTIALS.engine } },
  }
}

// web3.js derives the WebSocket port from an explicit HTTP port by adding one. QUIC has the same
// number as HTTP, of UDP.
const listenersFrom = (port: number, grpcPort: number | undefined) => [
  { host: HOST, port, quicPort: port, ...(grpcPort !== undefined && { grpcPort }) },
  { host: HOST, port: port + 1 },
]

type LocationPorts = Pick<Ports, 'fra' | 'nyc'> & Partial<Pick<Ports, 'fraGrpc' | 'nycGrpc'>>

const streamingOf = (grpcPort: number | undefined) =>
  grpcPort === undefined
    ? []
    : [
        {
          name: 'Yellowstone gRPC',
          url: urlOf(grpcPort),
          authentication: 'x-token: the location token',
        },
      ]

const locationsOf = ({ fra, nyc, fraGrpc, nycGrpc }: LocationPorts) => [
  {
    id: 'fra',
    name: 'Frankfurt',
    listeners: listenersFrom(fra, fraGrpc),
    streamingTargets: streamingOf(fraGrpc),
  },
  {
    id: 'nyc',
    name: 'New York',
    listeners: listenersFrom(nyc, nycGrpc),
    streamingTargets: streamingOf(nycGrpc),
  },
]

/** The section of one of several machines, and what is then its own. */
const machineOptions = (flags: SandboxFlags, index: number, endpoints: readonly string[]) => {
  const { dir, machines } = machinesOf(flags)
  const machine = machines[index]
  if (machine === undefined) throw new RangeError(`no machine ${index}`)
  const { id, location, dataDir, port, peerPort } = machine
  const fileOf = (name: string): string => join(dir, name)
  const cluster = {
    id: SANDBOX_CLUSTER,
    machine: id,
    location,
    store: [...endpoints],
    caFile: fileOf('ca.pem'),
    certFile: fileOf(`${id}.pem`),
    keyFile: fileOf(`${id}.key`),
    peerUrl: `https://${HOST}:${peerPort}`,
  }
  const { dashboardPort: dashboard, metricsPort: metrics } = machine
  const ports = { ...portsFrom(flags.port), [location]: port, dashboard, metrics }
  return { dataDir, ports, sections: { cluster } }
}

/** Which of several machines is configured, and the members of their etcd. */
export type MachineOfSandbox = { readonly index: number; readonly endpoints: readonly string[] }

/**
 * The configuration of a complete local deployment, or of one machine of it: two locations,
 * loopback only.
 */
export const sandboxConfig = (flags: SandboxFlags, machine?: MachineOfSandbox): Config => {
  const { dataDir, ports, sections } =
    machine === undefined
      ? { dataDir: flags.dataDir, ports: portsFrom(flags.port), sections: {} }
      : machineOptions(flags, machine.index, machine.endpoints)
  const { clientId, clientSecret } = CREDENTIALS.identity
  const given = {
    ...sections,
    dataDir,
    networks: [networkOf(ports, deriveTips(SANDBOX_SEED))],
    // Of several machines, others have its ports.
    locations: locationsOf(machine === undefined ? ports : { fra: ports.fra, nyc: ports.nyc }),
    products: [{ id: 'node-access', name: 'Node access' }],
    trustedProxies: ['127.0.0.9'],
    metrics: { host: HOST, port: ports.metrics },
    // Enough for load tests, and within the limit of open files of most machines.
    server: { connectionsMax: 4_096, connectionsPerAddressMax: 4_096 },
    dashboard: {
      host: HOST,
      port: ports.dashboard,
      // Not those of an operator: the sandbox is used for load tests.
      changesBurstMax: 1_000_000,
      changesPerMinuteMax: 1_000_000,
      // Receivers run on this machine, and whoever writes one does not wait for long.
      webhooks: { allowLoopback: true, checkMs: 2_000, sendMs: 3_000, retryMs: 1_000 },
      identity: { issuer: urlOf(ports.identity), clientId, clientSecret },
      operators: [SANDBOX_OPERATOR],
      statusPage: true,
    },
    processes: {
      // No balancer is in front.
      drainNoticeMs: 500,
      ...(flags.edgeCount === undefined ? {} : { edgeCount: flags.edgeCount }),
    },
    log: { level: 'warn' },
  }
  return toConfig(given, { takesConstants: true })
}
