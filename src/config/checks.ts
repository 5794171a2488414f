import { presetOf } from '../submission/lanes/presets.js'
import { ROUTE_LANES } from '../submission/store/end.js'
import { isJsonPreset } from '../submission/lanes/json.js'
import { explainCredential } from '../submission/lanes/quic-identity.js'
import { listenersOf, type ConfiguredListener } from './listeners.js'
import type { Config } from './schema.js'

/** A conflict between several options: its path, and a one-line message. */
export type Fault = { readonly keys: readonly string[]; readonly message: string }

type Network = Config['networks'][number]
type Lane = Network['lanes'][number]
type Faults = Generator<Fault, void, void>

const SYSTEM_PROGRAM = '11111111111111111111111111111111'

function* checkIds(config: Config): Faults {
  for (const list of ['networks', 'locations', 'products'] as const) {
    const seen = new Set<string>()
    for (const [index, { id }] of config[list].entries()) {
      const keys = [list, String(index), 'id']
      if (seen.has(id)) yield { keys, message: `${list}[${index}].id is ${id} a second time` }
      seen.add(id)
    }
  }
}

/** Checks that each repair step has the options that it loads from. */
function* checkRepairSteps(network: Network, index: number): Faults {
  const { accountsRpc, repairSteps, scope, snapshots } = network
  const keys = ['networks', String(index), 'repairSteps']
  const missing = {
    rpc: accountsRpc === undefined || scope === undefined ? 'accountsRpc and scope' : undefined,
    incremental: snapshots.length === 0 ? 'snapshots' : undefined,
    snapshot: snapshots.length === 0 ? 'snapshots' : undefined,
  }
  for (const step of repairSteps)
    if (missing[step] !== undefined)
      yield { keys, message: `networks[${index}].repairSteps: ${step} needs ${missing[step]}` }
  const hasBoth = repairSteps.includes('incremental') && repairSteps.includes('snapshot')
  if (hasBoth && snapshots.length < 2)
    yield {
      keys,
      message: `networks[${index}].repairSteps: incremental and snapshot need two snapshots, a full one and an incremental one`,
    }
}

/** Why a feed's plan would miss part of the scope. */
const explainPlan = (plan: string, scope: Network['scope']): string | undefined => {
  if (plan !== 'scoped' && plan !== 'narrow') return undefined
  if (scope === undefined) return `${plan} needs a scope`
  return plan === 'narrow' && scope.programs.includes(SYSTEM_PROGRAM)
    ? 'narrow cannot follow the System Program, because any transaction may empty a wallet'
    : undefined
}

function* checkFeedPlans({ feed, scope }: Network, index: number): Faults {
  for (const [position, { plan = feed.plan }] of [feed, ...feed.fallbacks].entries()) {
    const why = explainPlan(plan, scope)
    const option = position === 0 ? 'feed' : `feed.fallbacks[${position - 1}]`
    const keys = ['networks', String(index), 'feed']
    if (why !== undefined) yield { keys, message: `networks[${index}].${option}.plan: ${why}` }
  }
}

/** Checks that a tip address belongs either to the service or to the upstream. */
function* checkTipAddresses(network: Network, index: number): Faults {
  const routes = {
    lander: network.lander?.tipAddresses,
    relay: network.relay?.engineTipAddresses,
    relayBundle: network.relayBundle?.engineTipAddresses,
  }
  for (const route of ['lander', 'relay', 'relayBundle'] as const) {
    const upstream = new Set(routes[route])
    const both = network[route]?.serviceTipAddresses.find(address => upstream.has(address))
    const keys = ['networks', String(index), route, 'serviceTipAddresses']
    if (both !== undefined)
      yield { keys, message: `networks[${index}].${route}: ${both} is a tip address of both kinds` }
  }
}

/** Why a lane cannot be as it is configured. */
const explainLane = ({ credential, kind, preset, tipAddresses, ...lane }: Lane) => {
  if (ROUTE_LANES.has(lane.id)) return `id: ${lane.id} is the upstream of other routes`
  const isQuic = kind === 'quic-frame' || kind === 'quic-tpu'
  if (isQuic !== lane.url.startsWith('quic://'))
    return `url: ${kind} needs ${isQuic ? 'quic://host:port' : 'an http or https URL'}`
  const quic = presetOf(preset)
  const isPreset = kind === 'json' ? isJsonPreset(preset) : preset === 'none'
  if (isQuic ? quic?.kind !== kind : !isPreset) return `preset: ${preset} is none of ${kind}`
  if (kind === 'quic-frame' && credential === undefined)
    return 'credential: quic-frame needs the key of the service'
  const needed = quic && credential !== undefined && explainCredential(quic, credential)
  if (typeof needed === 'string') return `credential: ${preset} needs ${needed}`
  return tipAddresses.length === 0 && lane.tipFloorLamports > 0
    ? 'tipFloorLamports: a floor needs tipAddresses, or must be 0'
    : undefined
}

function* checkLanes({ lanes, transactionRoute }: Network, index: number): Faults {
  const seen = new Set<string>()
  if (transactionRoute === 'race' && lanes.length === 0)
    yield {
      keys: ['networks', String(index), 'transactionRoute'],
      message: `networks[${index}].transactionRoute: race needs lanes`,
    }
  for (const [at, lane] of lanes.entries()) {
    const why = seen.has(lane.id) ? `id is ${lane.id} a second time` : explainLane(lane)
    const keys = ['networks', String(index), 'lanes', String(at)]
    if (why !== undefined) yield { keys, message: `networks[${index}].lanes[${at}].${why}` }
    seen.add(lane.id)
  }
}

function* checkProducts(config: Config): Faults {
  for (const [index, product] of config.products.entries())
    for (const list of ['networks', 'locations'] as const) {
      const known = new Set(config[list].map(({ id }) => id))
      const unknown = product[list]?.find(id => !known.has(id))
      const keys = ['products', String(index), list]
      if (unknown !== undefined)
        yield { keys, message: `products[${index}].${list}: ${unknown} is none of ${list}` }
    }
}

/** Whether listening on `host` takes the port on `other` too. */
const covers = (host: string, other: string): boolean =>
  host === other || host === '::' || (host === '0.0.0.0' && !other.includes(':'))

function* checkPorts(config: Config): Faults {
  const earlier: ConfiguredListener[] = []
  for (const listener of listenersOf(config)) {
    const { host, port, protocol, user, keys } = listener
    const other = earlier.find(
      each =>
        each.port === port &&
        each.protocol === protocol &&
        (covers(each.host, host) || covers(host, each.host)),
    )
    earlier.push(listener)
    if (other === undefined) continue
    const both = other.host === host ? '' : `, on ${other.host} and on ${host}`
    const address = other.host === host ? `${host}:${port}` : `port ${port}`
    yield { keys, message: `${address} is used by ${other.user} and by ${user}${both}` }
  }
}

/** A lease must outlast a proof that is late, and one that is lost. */
const BEATS_IN_LEASE = 3
/** A start may have to outlast the lease of a former one. */
const LEASES_IN_START = 2

function* checkCluster({ cluster, locations, processes }: Config): Faults {
  if (cluster === undefined) return
  const { beatMs, leaseMs, location } = cluster
  if (leaseMs < BEATS_IN_LEASE * beatMs)
    yield {
      keys: ['cluster', 'leaseMs'],
      message: `cluster.leaseMs must be at least three times cluster.beatMs, so ${BEATS_IN_LEASE * beatMs}`,
    }
  if (leaseMs * LEASES_IN_START > processes.startMs)
    yield {
      keys: ['processes', 'startMs'],
      message: `processes.startMs must be at least twice cluster.leaseMs, so ${LEASES_IN_START * leaseMs}`,
    }
  if (!locations.some(({ id }) => id === location))
    yield {
      keys: ['cluster', 'location'],
      message: `cluster.location: ${location} is none of locations`,
    }
}

/** Checks across options: unique ids, ports and addresses, and options that require others. */
export function* checkTogether(config: Config): Faults {
  yield* checkIds(config)
  for (const [index, network] of config.networks.entries()) {
    yield* checkRepairSteps(network, index)
    yield* checkFeedPlans(network, index)
    yield* checkTipAddresses(network, index)
    yield* checkLanes(network, index)
  }
  yield* checkProducts(config)
  yield* checkPorts(config)
  yield* checkCluster(config)
}
