import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { edgeSlotsOf } from '../config/edge-count.js'
import { grpcAddresses } from '../config/listeners.js'
import { openAccess, type OpenAccess } from '../edge/access.js'
import { GrpcCalls } from '../edge/grpc/calls.js'
import { createRefusalCounter, meterGrpc, meterLog } from '../edge/metrics.js'
import { boundUnsent, openListener } from '../native/os.js'
import { bufferBytesOf } from '../ingest/feed/geyser.js'
import { toFeedSources, type ChainOverride } from '../ingest/feed/sources.js'
import type { FeedOptions } from '../native/indexer.js'
import { openGrpcListeners, type GrpcListeners } from '../server/grpc/grpc-listeners.js'
import { nameOfAddress } from '../server/port.js'
import { openLog, type Log } from '../shared/log.js'
import { createMetrics, type Metrics } from '../shared/metrics.js'
import { currentGeneration, storesPath } from '../storage/generations.js'
import { toStoreOptions } from '../storage/store-options.js'
import { readVersion } from '../supervision/build.js'
import type { Assignments, Command } from '../supervision/messages.js'
import { openSharedMemory, type SharedMemory } from '../supervision/shared-memory.js'
import { sendMetrics, type Running, type Start } from './start.js'

/**
 * Threads that make and send updates: as many as cores, and few enough for what one machine sends.
 */
const THREADS_MAX = 8

/** The version that is served, in the form of Yellowstone's own server. */
const describeVersion = (): string => {
  const version = { package: 'slotline', version: readVersion(), proto: '14.0.1' }
  return JSON.stringify({ version, extra: {} })
}

/** The servers of a network's feed, with the bounds of each. */
const serversOf = (
  { feed }: Assignments['geyser']['config']['networks'][number],
  chain: ChainOverride | undefined,
): FeedOptions[] => {
  const { bounds, sources } = toFeedSources(feed, chain)
  return sources.map(source => ({
    ...bounds,
    ...source,
    bufferBytesMax: bufferBytesOf(bounds),
  }))
}

type Parts = Assignments['geyser'] & {
  readonly log: Log
  readonly metrics: Metrics
  readonly shared: SharedMemory
  readonly access: OpenAccess
}

/** Serves Yellowstone gRPC at every location of this machine. */
class Geyser implements Pick<Running, 'onCommand' | 'drain'> {
  private readonly parts: Parts
  private readonly listeners: GrpcListeners
  private readonly calls: GrpcCalls
  /** The store of each network that is served. */
  private readonly generations: (string | undefined)[] = []
  private readonly failed = new Set<string>()
  private readonly timers: NodeJS.Timeout[] = []
  private confirmedVersion = Number.NaN

  constructor(parts: Parts, listeners: GrpcListeners, locations: readonly string[]) {
    const { access, config, log, metrics, shared } = parts
    this.parts = parts
    this.listeners = listeners
    this.calls = new GrpcCalls(
      {
        ...access,
        locations,
        networks: config.networks.map(({ id }) => id),
        version: shared.leasedVersion,
        now: Date.now,
        onRefusal: createRefusalCounter(metrics),
        log,
      },
      listeners.server,
    )
  }

  open(): void {
    const { config, index, metrics, shared } = this.parts
    const { socketCheckMs, tipPollMs, unsentBytesMax } = config.processes
    boundUnsent(unsentBytesMax)
    for (const network of config.networks.keys()) this.refresh(network)
    shared.enterEdge(index, process.pid)
    shared.report(index, 'ok', [], [])
    this.receive().catch((error: unknown) => this.fail(error))
    const poll = (): void => {
      this.confirmVersion()
      for (const network of config.networks.keys()) this.refresh(network)
    }
    this.timers.push(setInterval(poll, tipPollMs))
    this.timers.push(setInterval(() => this.calls.revalidateAll(), socketCheckMs))
    const ids = config.networks.map(({ id }) => id)
    meterGrpc(metrics, this.listeners.server, ids)
  }

  onCommand(command: Command): void {
    const { config } = this.parts
    if (command.kind === 'accessChanged') this.confirmVersion()
    else if (command.kind === 'committed' || command.kind === 'storeReplaced')
      this.refresh(config.networks.findIndex(({ id }) => id === command.network))
  }

  async drain(): Promise<void> {
    const { access, config } = this.parts
    const closing = setTimeout(() => this.listeners.close(), config.server.drainMs)
    await this.listeners.server.drain().catch(() => {})
    clearTimeout(closing)
    for (const timer of this.timers) clearInterval(timer)
    this.listeners.close()
    await access.close()
  }

  private async receive(): Promise<void> {
    for (;;) {
      const events = await this.listeners.server.receive()
      if (events === undefined) return
      for (const event of events) this.calls.handle(event)
    }
  }

  private fail(error: unknown): void {
    this.parts.log.error({ err: error }, 'the gRPC server has failed')
    process.exit(1)
  }

  /** Serves the live store of a network up to its tip. */
  private refresh(network: number): void {
    const { config, log } = this.parts
    const { server } = this.listeners
    const served = config.networks[network]
    if (served === undefined) return
    const { id, feed } = served
    const stores = storesPath(config.dataDir, id)
    const generation = currentGeneration(stores)
    try {
      if (generation !== undefined && generation !== this.generations[network]) {
        const options = toStoreOptions(config, id)
        const dir = join(stores, generation)
        server.useStore(network, { dir, options, transactions: feed.transactions })
        this.generations[network] = generation
        log.info({ network: id, generation }, 'serving a store')
      }
      server.refresh(network)
    } catch (error) {
      // It may have been replaced before it was opened; then the next refresh opens the new one.
      const name = `${id} ${generation}`
      if (!this.failed.has(name)) log.error({ err: error, network: id }, 'store cannot be read')
      this.failed.add(name)
    }
  }

  /** Confirms once nothing is sent any more under an older version. */
  private confirmVersion(): void {
    const { index, log, shared } = this.parts
    const current = shared.accessVersion()
    const isLeased = !Number.isNaN(shared.leasedVersion())
    if (current === this.confirmedVersion && isLeased) return
    this.calls.revalidateAll()
    this.listeners.server.settle().then(
      () => {
        this.confirmedVersion = current
        shared.confirmVersion(index, current)
      },
      (error: unknown) => log.error({ err: error }, 'a change of accesses was not confirmed'),
    )
  }
}

/** Yellowstone gRPC: streams of what the index gains, at every location of this machine. */
export const startGeyser: Start<'geyser'> = async (assignment, send) => {
  const { chain, config, index, listeners: inherited } = assignment
  const { log, flush, droppedCount } = openLog('geyser', config.log)
  const metrics = createMetrics('geyser')
  meterLog(metrics, droppedCount)
  const shared = openSharedMemory(config.dataDir)
  const { leasedVersion: version } = shared
  const access = await openAccess(config, { index, edgeCount: edgeSlotsOf(config), version, log })
  const addresses = config.locations.flatMap(location =>
    grpcAddresses(location).map(({ at, ...address }) => ({
      ...address,
      location: location.id,
      tls: location.listeners[at]?.tls,
    })),
  )
  const listeners = openGrpcListeners(
    addresses.map(({ host, port, tls }) => ({
      descriptor: inherited[nameOfAddress({ host, port })] ?? openListener(host, port),
      tls,
    })),
    {
      networks: config.networks.map(network => serversOf(network, chain)),
      threads: Math.min(THREADS_MAX, availableParallelism()),
      version: describeVersion(),
      updateBytesPerSecond: config.pubsub.streamBytesPerSecondMax,
    },
    log,
  )
  const parts = { ...assignment, log, metrics, shared, access }
  const geyser = new Geyser(
    parts,
    listeners,
    addresses.map(({ location }) => location),
  )
  geyser.open()
  return {
    onCommand: command => {
      if (command.kind === 'collectMetrics') void sendMetrics(metrics, send, command.call)
      else geyser.onCommand(command)
    },
    drain: async () => {
      await geyser.drain()
      flush()
    },
  }
}
