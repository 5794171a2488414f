import { fork, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import bs58 from 'bs58'
import { createTokenManager } from '../../src/access/tokens/token-manager.js'
import { createAccessManager } from '../../src/access/accesses/access-manager.js'
import { createSealing } from '../../src/access/tokens/sealing.js'
import { createLocalJournal } from '../../src/access/journal/local-journal.js'
import { openControlStore } from '../../src/access/store/control-store.js'
import { openWriter } from '../../src/access/store/store.js'
import { toGeyserConfig, toIndexerConfig, toSenderConfig } from '../../src/config/child-config.js'
import { toConfig, type Config } from '../../src/config/config.js'
import { openSharedMemory } from '../../src/supervision/shared-memory.js'
import { NODE_FLAGS } from '../../src/supervision/child.js'
import type { Assignments, Command, Event } from '../../src/supervision/messages.js'
import type { ListenerTls } from '../../src/server/tls/certificate.js'
import { formatMetrics } from '../../src/shared/metrics.js'
import type { Limits } from '../../src/shared/access-limits.js'
import { makeCertificate } from '../../test/fixtures/server/certificates.js'
import { stopProcess } from '../child.js'
import type { Target } from '../load-generators/connection.js'
import { PATHS } from '../peers/upstream-paths.js'
import { ENGINE_TIP, LANDER_TIP, SERVICE_TIP } from '../data/transactions.js'

export const NETWORK = 'bench'
const LOCATION = 'bench'
const HOST = '127.0.0.1'
const READY_MS_MAX = 30_000

/** Checked at each request, and never reached. */
const LIMITS: Limits = {
  requestsPerSecondMax: 1_000_000,
  requestsBurstMax: 1_000_000,
  requestsInFlightMax: 10_000,
  socketsMax: 10_000,
  subscriptionsPerSocketMax: 10_000,
}

/** A port that nothing listens at now. */
export const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer().once('error', reject)
    server.listen(0, HOST, () => {
      const address = server.address()
      const port = address !== null && typeof address === 'object' ? address.port : 0
      server.close(() => resolve(port))
    })
  })

/** Kinds of keys, each of a certificate for the host `<kind>.example`. */
export const KEYS = {
  'p-256': ['ec', '-pkeyopt', 'ec_paramgen_curve:P-256'],
  'rsa-2048': ['rsa:2048'],
  'rsa-4096': ['rsa:4096'],
} as const

/** A certificate of each kind of key; the first is for clients that name no host. */
const makeCertificates = (dir: string): ListenerTls => {
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const [first, ...sni] = Object.entries(KEYS).map(([name, key]) =>
    makeCertificate(dir, name, { hosts: [`${name}.example`], key }),
  )
  if (first === undefined) throw new Error('there is no kind of key')
  return { ...first, sni }
}

/**
 * The configuration of one edge on its own data directory: defaults except paths and names,
 * and for what `rpc` names.
 */
export const benchConfig = async (
  dataDir: string,
  upstreamPort: number,
  rpc: Partial<Config['rpc']> = {},
): Promise<Config> => {
  // uWebSockets.js, which the upstream runs on, closes an idle connection after 10 s.
  const upstream = { urls: [`http://${HOST}:${upstreamPort}`], idleMs: 5_000 }
  const relay = {
    upstream,
    serviceTipAddresses: [bs58.encode(SERVICE_TIP)],
    engineTipAddresses: [bs58.encode(ENGINE_TIP)],
    // The latency of the service is measured, not the wait for an engine's rate.
    requestsPerSecondMax: 1_000_000,
    requestsBurstMax: 1_000_000,
    tipCheckMs: 0,
  }
  const port = await freePort()
  return toConfig(
    {
      dataDir,
      rpc,
      // Never called: the edge runs without an indexer, on an unchanging store.
      networks: [
        {
          id: NETWORK,
          feed: { endpoint: `http://${HOST}:9` },
          lander: { upstream, tipAddresses: [bs58.encode(LANDER_TIP)] },
          relay: { ...relay, path: PATHS.iris },
          relayBundle: { ...relay, path: PATHS.engine },
        },
      ],
      locations: [
        {
          id: LOCATION,
          name: 'Bench',
          listeners: [
            { host: HOST, port, quicPort: port },
            { host: HOST, port: await freePort(), tls: makeCertificates(dataDir) },
          ],
        },
      ],
      metrics: { host: HOST, port: await freePort() },
      processes: { edgeCount: 1 },
      log: { level: 'warn' },
    },
    { takesConstants: true },
  )
}

/** Makes the access store and one token in it, as control would. */
export const createToken = async ({ dataDir, access }: Config): Promise<string> => {
  const store = await openWriter(dataDir, access.store)
  const ownStore = openControlStore(dataDir, access.store)
  const sealing = createSealing(access.keyFile, ownStore, randomBytes)
  const journal = createLocalJournal({ store, randomBytes })
  const own = { store, journal, randomBytes, now: Date.now }
  const { accessId } = await createAccessManager(own).grant({
    subject: 'bench',
    kind: 'pass',
    product: 'node-access',
    networks: [NETWORK],
    locations: [LOCATION],
    limits: LIMITS,
    validFromMs: Date.now(),
    validUntilMs: null,
  })
  const tokenScope = { accessId, network: NETWORK, location: LOCATION }
  const { token } = await createTokenManager({ ...own, sealing }).generate(tokenScope)
  await store.close()
  await ownStore.close()
  return token.reveal()
}

/** A server under load. */
export type Server = { readonly target: Target; readonly pid: number }

/** A running edge. */
export type Edge = Server & {
  readonly senderPid: number
  /** Sends a command of the supervisor. */
  send(command: Command): void
  /** Its metrics, as `/metrics` has them. */
  metrics(): Promise<string>
  stop(): Promise<void>
}

type Program = 'sender' | 'edge' | 'indexer' | 'geyser'

/** Starts a program as the supervisor does, and waits until it has reported these events. */
const startProgram = async (
  role: Program,
  assignment: Assignments[Program],
  awaited: readonly Event['kind'][],
  flags: readonly string[] = [],
): Promise<ChildProcess> => {
  const child = fork(fileURLToPath(import.meta.resolve(`#programs/${role}`)), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    serialization: 'advanced',
    execArgv: [...(NODE_FLAGS[role] ?? []), ...flags],
  })
  try {
    await new Promise<void>((resolve, reject) => {
      const missing = new Set(awaited)
      const late = setTimeout(() => reject(new Error(`the ${role} is not ready`)), READY_MS_MAX)
      child.on('message', message => {
        const event = message as Event
        if (event.kind === 'failed') reject(new Error(`${role}: ${event.message}`))
        missing.delete(event.kind)
        if (missing.size > 0) return
        clearTimeout(late)
        resolve()
      })
      child.once('exit', code => reject(new Error(`the ${role} ended with ${String(code)}`)))
      child.send({ kind: 'start', assignment } satisfies Command)
    })
  } catch (error) {
    await stopProcess(child)
    throw error
  }
  return child
}

/** Called with each event of an indexer's process. */
type OnEvent = (event: Event) => void

/** Starts the real indexer, which reads the feed of the configuration. */
export const startIndexer = async (config: Config, onEvent: OnEvent) => {
  const assignment = { config: toIndexerConfig(config, NETWORK), network: NETWORK }
  const child = await startProgram(
    'indexer',
    { ...assignment, chain: undefined, mayRebuild: false },
    ['ready', 'committed'],
  )
  child.on('message', message => onEvent(message as Event))
  return { pid: child.pid ?? 0, stop: () => stopProcess(child) }
}

/** Starts the real process of gRPC beside an edge. */
export const startGeyser = async (config: Config) => {
  const child = await startProgram(
    'geyser',
    { config: toGeyserConfig(config), index: 1, chain: undefined, listeners: {} },
    ['ready'],
  )
  const send = (command: Command): void => void child.send(command)
  return { pid: child.pid ?? 0, send, stop: () => stopProcess(child) }
}

/**
 * Starts the real edge and sender processes, one of each, and waits until they can answer.
 */
export const startEdge = async (
  config: Config,
  token: string,
  nodeFlags: readonly string[] = [],
): Promise<Edge> => {
  // As the supervisor of a machine by itself does: no lease ends.
  openSharedMemory(config.dataDir).setLeaseEnd(Infinity)
  const sender = await startProgram('sender', { config: toSenderConfig(config) }, ['ready'])
  const child = await startProgram(
    'edge',
    { config, index: 0, position: 0, listeners: {} },
    // It opens its store before it listens: it must have reported both.
    ['indexed', 'ready'],
    nodeFlags,
  )
  return {
    pid: child.pid ?? 0,
    senderPid: sender.pid ?? 0,
    target: { port: config.locations[0]?.listeners[0]?.port ?? 0, path: `/${token}` },
    send: command => void child.send(command),
    metrics: () =>
      new Promise(resolve => {
        const take = (message: unknown): void => {
          const event = message as Event
          if (event.kind !== 'metrics') return
          child.off('message', take)
          resolve(formatMetrics([event.snapshot]))
        }
        child.on('message', take)
        child.send({ kind: 'collectMetrics', call: 0 } satisfies Command)
      }),
    stop: async () => {
      await stopProcess(child)
      await stopProcess(sender)
    },
  }
}

const TURN = /^slotline_loop_turn_max_seconds\{.*clock="cpu"\} (\S+)$/m

/** Processor time of the longest turn of the event loop in collected metrics, in milliseconds. */
export const turnMsOf = (metrics: string): number => Number(TURN.exec(metrics)?.[1] ?? NaN) * 1_000

/** Processor time of the longest turn of the event loop since the last call, in milliseconds. */
export const longestTurnMs = async (edge: Edge): Promise<number> => turnMsOf(await edge.metrics())

/** The first collection of metrics compiles what collects them: a turn of 5 to 9 ms. */
export const forgetTurns = async (edge: Edge): Promise<void> => {
  await longestTurnMs(edge)
  await longestTurnMs(edge)
}
