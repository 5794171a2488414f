import { join } from 'node:path'
import type { Command } from 'commander'
import type { Config } from '../config/config.js'
import type { BootstrapStatus, IndexerStatus, RepairStatus } from '../shared/indexer-status.js'
import { demandNetwork, exitWithAnswer, withService, type ConfigLoader } from './command.js'
import { formatDuration } from './format-duration.js'
import { createLanesOf, formatLanes, type ShownLane } from './lane-status.js'
import { formatOwnMachine, ownMachineStatus } from './machine-status.js'
import { isAlive } from './service/indexer-process.js'

/** One network in the output of `slotline status`. */
export type NetworkStatus = {
  readonly network: string
  readonly isRunning: boolean
  readonly isHealthy: boolean
  /** Why the network is unhealthy. */
  readonly reason: string | null
  readonly generation: string | null
  readonly tipSlot: number | null
  /** Time since the commit of the tip or, if unknown, since its block time. */
  readonly tipAgeMs: number | null
  readonly source: string | null
  readonly bootstrap: BootstrapStatus | null
  readonly repair: RepairStatus | null
  /** Its lanes; none is unhealthy for them. */
  readonly lanes: readonly ShownLane[]
}

const ageMs = (tip: IndexerStatus['tip'], nowMs: number): number | null => {
  const atMs = tip?.committedAtMs ?? (tip?.blockTime == null ? null : tip.blockTime * 1_000)
  return atMs === null ? null : Math.max(0, nowMs - atMs)
}

type ReadTip = (dir: string) => IndexerStatus['tip']

/** Status of a network from its files; `written` is the indexer's last report. */
const toNetworkStatus = (
  {
    network,
    stores,
    generation,
    lanes,
  }: { network: string; stores: string; generation: string | null; lanes: readonly ShownLane[] },
  written: IndexerStatus | undefined,
  { nowMs, staleMs, readTip }: { nowMs: number; staleMs: number; readTip: ReadTip },
): NetworkStatus => {
  const silentMs = written === undefined ? Infinity : nowMs - written.atMs
  const hasProcess = written !== undefined && isAlive(written.pid)
  const isRunning = hasProcess && silentMs <= staleMs
  const stored = isRunning || generation === null ? null : readTip(join(stores, generation))
  const tip = isRunning ? written.tip : stored
  const base = {
    network,
    isRunning,
    generation,
    tipSlot: tip?.slot ?? null,
    tipAgeMs: ageMs(tip, nowMs),
    bootstrap: written?.bootstrap ?? null,
    repair: written?.repair ?? null,
    lanes,
  }
  if (isRunning) {
    const { isHealthy, reason = null, source } = written
    return { ...base, isHealthy, reason, source }
  }
  const reason = hasProcess
    ? `process ${written.pid} has not written its status for ${formatDuration(silentMs / 1_000)}`
    : 'no indexer runs'
  return { ...base, isHealthy: false, reason, source: null }
}

const formatBootstrap = (bootstrap: BootstrapStatus, isRunning: boolean): string => {
  const { kind, locations, progress, reason, state, step } = bootstrap
  const what = `${kind}${locations.length === 0 ? '' : ` from ${locations.join(', ')}`}`
  if (state === 'failed') return `${what} failed at the step ${step}: ${reason ?? 'no reason'}`
  if (state === 'cancelled') return `${what} was cancelled at the step ${step}: ${reason ?? ''}`
  if (state === 'done') return `${what}: done`
  if (!isRunning) return `${what}: stopped at ${step}; the next start resumes it`
  if (progress === undefined) return `${what}: ${step}`
  const { detail, done, total, unit } = progress
  const percent = Math.floor((done * 100) / total)
  const ofTotal = total > 0 ? ` of ${total.toLocaleString('en')}` : ''
  const share = total > 0 ? ` (${percent} %)` : ''
  return `${what}: ${step}, ${done.toLocaleString('en')}${ofTotal} ${unit}${share}${detail === '' ? '' : `, ${detail}`}`
}

const formatNetwork = (status: NetworkStatus): string => {
  const { bootstrap, generation, isHealthy, isRunning, network, reason, repair, source } = status
  const lanes = formatLanes(status.lanes, Date.now())
  const age = status.tipAgeMs === null ? '' : `, ${formatDuration(status.tipAgeMs / 1_000)} old`
  const tip = status.tipSlot === null ? 'no block yet' : `slot ${status.tipSlot}${age}`
  const lines = [
    `network ${network}: ${isHealthy ? 'healthy' : `not healthy: ${reason ?? 'no reason'}`}`,
    `  tip        ${tip}${generation === null ? '' : ` (store ${generation})`}`,
    ...(source === null || source === '' ? [] : [`  feed       ${source}`]),
    ...(bootstrap === null ? [] : [`  bootstrap  ${formatBootstrap(bootstrap, isRunning)}`]),
    ...(repair === null ? [] : [`  repair     ${repair.step}: ${repair.reason}`]),
    ...lanes,
  ]
  return `${lines.join('\n')}\n`
}

const status = async (
  config: Config,
  options: { readonly network?: string; readonly json?: boolean },
): Promise<0 | 1> => {
  const { currentGeneration, storesPath } = await import('../storage/generations.js')
  const { readStatus } = await import('../storage/status-file.js')
  const { readStoredTip } = await import('../storage/stored-tip.js')
  const { toStoreOptions } = await import('../storage/store-options.js')
  const { network: only } = options
  const selected = only === undefined ? config.networks : [demandNetwork(config, only)]
  const lanesOf = createLanesOf(config, Date.now())
  const networks = selected.map(({ id: network, lanes: configured }) => {
    const stores = storesPath(config.dataDir, network)
    const generation = currentGeneration(stores) ?? null
    const lanes = lanesOf(network, configured)
    return toNetworkStatus({ network, stores, generation, lanes }, readStatus(stores), {
      nowMs: Date.now(),
      staleMs: config.status.staleMs,
      readTip: dir => readStoredTip(dir, toStoreOptions(config, network)),
    })
  })
  const machine = ownMachineStatus(config, Date.now())
  const isHealthy = machine?.isHealthy !== false && networks.every(network => network.isHealthy)
  process.stdout.write(
    options.json
      ? `${JSON.stringify({ isHealthy, ...(machine && { machine }), networks })}\n`
      : [...(machine ? [formatOwnMachine(machine)] : []), ...networks.map(formatNetwork)].join(''),
  )
  return isHealthy ? 0 : 1
}

/** `slotline status`: exit code 0 if all is healthy, 1 if it is not, 2 if it is unknown. */
export const addStatusCommand = (program: Command, load: ConfigLoader): void => {
  withService(program.command('status'))
    .description('show the tip, health, feed, bootstrap and repair of each network; lease and lag')
    .option('--network <id>', 'only this network')
    .option('--json', 'print it as one line of JSON')
    .action(options => exitWithAnswer(async () => status(await load.service(options), options)))
}
