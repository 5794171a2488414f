import type { Config } from './config.js'
import { ownLocations } from './own-locations.js'

type Network = Config['networks'][number]

const pick = <T extends object, const K extends keyof T>(
  from: T,
  keys: readonly K[],
): Pick<T, K> => {
  const picked: Partial<T> = {}
  for (const key of keys) if (key in from) picked[key] = from[key]
  return picked as Pick<T, K>
}

/** Sections that an edge needs; of `access` no files of keys. */
const EDGE = [
  'dataDir',
  'trustedProxies',
  'locations',
  'server',
  'rpc',
  'store',
  'pools',
  'pubsub',
  'submissionStore',
  'processes',
  'log',
] as const
/**
 * What an edge needs of each network: the upstream of its reads, and how its store is opened. Of
 * its submission routes all but where they lead, which is the sender's.
 */
const EDGE_NETWORK = [
  'id',
  'changedPrograms',
  'scope',
  'rpc',
  'signatureRule',
  'transactionRoute',
] as const

/** Sections that the process of gRPC needs. */
const GEYSER = ['dataDir', 'locations', 'server', 'store', 'pubsub', 'processes', 'log'] as const
/** What it needs of each network: how its store is opened, and the source that it passes on. */
const GEYSER_NETWORK = ['id', 'changedPrograms', 'scope', 'feed'] as const

const SENDER = [
  'dataDir',
  'store',
  'pools',
  'submissionStore',
  'processes',
  'status',
  'log',
] as const
/** What the sender needs of each network: its upstreams, and the index of what has landed. */
const SENDER_NETWORK = [
  'id',
  'changedPrograms',
  'scope',
  'lander',
  'lanes',
  'relay',
  'relayBundle',
] as const

const INDEXER = ['dataDir', 'cluster', 'store', 'processes', 'status', 'bootstrap', 'log'] as const
/** What an indexer needs of its network: every source of accounts, and no upstream of requests. */
const INDEXER_NETWORK = [
  'id',
  'feed',
  'repair',
  'repairSteps',
  'snapshots',
  'snapshotsCaFile',
  'changedPrograms',
  'scope',
  'accountsRpc',
] as const

const CONTROL = [
  'dataDir',
  'cluster',
  'trustedProxies',
  'locations',
  'products',
  'access',
  'dashboard',
  'submissionStore',
  'processes',
  'status',
  'log',
] as const
const FOLLOWER = ['dataDir', 'cluster', 'processes', 'status', 'log'] as const
/** Control shows networks by their names; it calls none of their sources and upstreams. */
const CONTROL_NETWORK = ['id', 'name', 'explorerUrl'] as const
/** Of the submission routes it shows which tips they take. */
const LANDER_TIPS = ['tipAddresses', 'serviceTipAddresses', 'tipFloorLamports'] as const
const LANE_TIPS = ['tipAddresses', 'tipFloorLamports'] as const
/** An edge reports tips by lane. */
const EDGE_LANE = ['id', ...LANE_TIPS] as const
const RELAY_TIPS = [
  'serviceTipAddresses',
  'serviceTipFloorLamports',
  'engineTipAddresses',
  'engineTipFloorLamports',
] as const

/** Of a section of submission routes, what the sender alone needs: a path may contain a key. */
const SENT = [
  'upstream',
  'path',
  'transactionPath',
  'bundlePath',
  'batchPath',
  'binaryPath',
] as const

type Routed<S> = Omit<NonNullable<S>, (typeof SENT)[number]>

/** A network as its edges know it. */
export type EdgeNetwork = Pick<Network, (typeof EDGE_NETWORK)[number]> & {
  readonly lander?: Routed<Network['lander']> | undefined
  readonly lanes: readonly Pick<Network['lanes'][number], (typeof EDGE_LANE)[number]>[]
  readonly relay?: Routed<Network['relay']> | undefined
  readonly relayBundle?: Routed<Network['relayBundle']> | undefined
  /** Whether transactions can be subscribed to; where the feed is, is for the indexer. */
  readonly feed: Pick<Network['feed'], 'transactions'>
}

/** What the sender needs of the cluster: no certificate. */
const SENDER_CLUSTER = ['peerMs', 'peerCallsMax'] as const

/** The configuration of the sender. */
export type SenderConfig = Pick<Config, (typeof SENDER)[number]> & {
  readonly cluster?:
    Pick<NonNullable<Config['cluster']>, (typeof SENDER_CLUSTER)[number]> | undefined
  readonly networks: readonly (Pick<Network, (typeof SENDER_NETWORK)[number]> & {
    readonly feed: Pick<Network['feed'], 'transactions'>
  })[]
}

/** The configuration of an edge. */
export type EdgeConfig = Pick<Config, (typeof EDGE)[number]> & {
  readonly access: Omit<Config['access'], 'keyFile' | 'adminTokenFile' | 'audit'>
  readonly networks: readonly EdgeNetwork[]
}

/** The configuration of the process of gRPC. */
export type GeyserConfig = Pick<Config, (typeof GEYSER)[number]> & {
  readonly access: EdgeConfig['access']
  readonly networks: readonly Pick<Network, (typeof GEYSER_NETWORK)[number]>[]
}

/** A network as its indexer knows it. */
export type IndexerNetwork = Pick<Network, (typeof INDEXER_NETWORK)[number]>

/** The configuration of the indexer of one network. */
export type IndexerConfig = Pick<Config, (typeof INDEXER)[number]> & {
  readonly networks: readonly IndexerNetwork[]
}

/** Tips of a relay route. */
export type RelayTips = Pick<NonNullable<Network['relay']>, (typeof RELAY_TIPS)[number]>

/** Tips of a lane. */
export type LaneTips = Pick<Network['lanes'][number], (typeof LANE_TIPS)[number]>

/** A network as control knows it. */
export type ControlNetwork = Pick<Network, (typeof CONTROL_NETWORK)[number]> & {
  readonly lander?: Pick<NonNullable<Network['lander']>, (typeof LANDER_TIPS)[number]> | undefined
  readonly lanes: readonly LaneTips[]
  readonly relay?: RelayTips | undefined
  readonly relayBundle?: RelayTips | undefined
}

/** The configuration of control. */
export type ControlConfig = Pick<Config, (typeof CONTROL)[number]> & {
  readonly networks: readonly ControlNetwork[]
}

/** The configuration of the follower of a cluster. */
export type FollowerConfig = Pick<Config, (typeof FOLLOWER)[number]> & {
  readonly networks: readonly Pick<Network, 'id'>[]
  readonly access: Pick<Config['access'], 'store' | 'limits'>
  readonly store: Pick<Config['store'], 'diskReserveBytes'>
}

/** The configuration of a process that provides a chain in place of a feed. */
export type ChainProviderConfig = Pick<Config, 'log'> & {
  readonly dashboard: Omit<Config['dashboard'], 'identity'>
}

/** What an edge receives: no source of accounts, no session, no sealing and no admin secret. */
export const toEdgeConfig = (config: Config): EdgeConfig => ({
  ...pick(config, EDGE),
  locations: ownLocations(config),
  access: pick(config.access, ['store', 'authenticate', 'limits', 'usage']),
  networks: config.networks.map(network => ({
    ...pick(network, EDGE_NETWORK),
    lander: toRouted(network.lander),
    lanes: network.lanes.map(lane => pick(lane, EDGE_LANE)),
    relay: toRouted(network.relay),
    relayBundle: toRouted(network.relayBundle),
    feed: pick(network.feed, ['transactions']),
  })),
})

/** What the process of gRPC receives: the sources of blocks, no upstream of requests. */
export const toGeyserConfig = (config: Config): GeyserConfig => ({
  ...pick(config, GEYSER),
  locations: ownLocations(config),
  access: pick(config.access, ['store', 'authenticate', 'limits', 'usage']),
  networks: config.networks.map(network => pick(network, GEYSER_NETWORK)),
})

const toRouted = <S extends object>(section: S | undefined): Routed<S> | undefined => {
  if (section === undefined) return undefined
  const names = SENT as readonly string[]
  const kept = Object.entries(section).filter(([name]) => !names.includes(name))
  return Object.fromEntries(kept) as Routed<S>
}

/** What the sender receives: the upstreams of submissions, and no token or key of an access. */
export const toSenderConfig = (config: Config): SenderConfig => ({
  ...pick(config, SENDER),
  ...(config.cluster === undefined ? {} : { cluster: pick(config.cluster, SENDER_CLUSTER) }),
  networks: config.networks.map(network => ({
    ...pick(network, SENDER_NETWORK),
    feed: pick(network.feed, ['transactions']),
  })),
})

/** What the indexer of this network receives: nothing of another network, no upstream. */
export const toIndexerConfig = (config: Config, id: string): IndexerConfig => ({
  ...pick(config, INDEXER),
  networks: config.networks
    .filter(network => network.id === id)
    .map(network => pick(network, INDEXER_NETWORK)),
})

/** What control receives: no source of accounts and no upstream. */
export const toControlConfig = (config: Config): ControlConfig => ({
  ...pick(config, CONTROL),
  networks: config.networks.map(network => ({
    ...pick(network, CONTROL_NETWORK),
    lander: network.lander && pick(network.lander, LANDER_TIPS),
    lanes: network.lanes.map(lane => pick(lane, LANE_TIPS)),
    relay: network.relay && pick(network.relay, RELAY_TIPS),
    relayBundle: network.relayBundle && pick(network.relayBundle, RELAY_TIPS),
  })),
})

/** What a follower receives: the access store, the limit table, the cluster, names of networks. */
export const toFollowerConfig = (config: Config): FollowerConfig => ({
  ...pick(config, FOLLOWER),
  networks: config.networks.map(network => pick(network, ['id'])),
  access: pick(config.access, ['store', 'limits']),
  store: pick(config.store, ['diskReserveBytes']),
})

/** What a chain provider receives: how to log, and where browsers find the dashboard. */
export const toChainProviderConfig = ({ dashboard, log }: Config): ChainProviderConfig => {
  const { identity: _secret, ...shown } = dashboard
  return { log, dashboard: shown }
}
