import { join } from 'node:path'
import type { Config } from '../config/config.js'
import { openCaretaker } from '../native/inspector.js'
import type { BootstrapStatus, IndexerStatus, RepairStatus } from '../shared/indexer-status.js'
import { currentGeneration, storesPath } from '../storage/generations.js'
import { toStoreOptions } from '../storage/native-options.js'
import { formatDuration } from '../storage/progress.js'
import { readStatus } from '../storage/status-file.js'

/** One network as `slotline status` shows it. */
export type NetworkStatus = {
  readonly network: string
  readonly isRunning: boolean
  readonly isHealthy: boolean
  /** Why it is not healthy. */
  readonly reason: string | null
  readonly generation: string | null
  readonly tipSlot: number | null
  /** Since the tip was committed; where that is not known, since its block. */
  readonly tipAgeMs: number | null
  readonly source: string | null
  readonly bootstrap: BootstrapStatus | null
  readonly repair: RepairStatus | null
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // Of another user: it is there.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

/** The tip that lies in a store which nobody writes. */
export const storedTip = (
  config: Config,
  network: string,
  generation: string,
): IndexerStatus['tip'] => {
  try {
    const dir = join(storesPath(config.dataDir, network), generation)
    const store = openCaretaker(dir, toStoreOptions(config, network))
    const tip = store.tip()
    store.close()
    if (tip === undefined) return null
    const { blockHeight, blockTime = null, slot } = tip
    return { slot, blockHeight, blockTime, committedAtMs: null }
  } catch {
    // What is wrong with it the next start says; here it is no slot.
    return null
  }
}

const ageMs = (tip: IndexerStatus['tip'], nowMs: number): number | null => {
  const atMs = tip?.committedAtMs ?? (tip?.blockTime == null ? null : tip.blockTime * 1_000)
  return atMs === null ? null : Math.max(0, nowMs - atMs)
}

/** What is known of a network from its files. */
export const networkStatus = (config: Config, network: string, nowMs: number): NetworkStatus => {
  const stores = storesPath(config.dataDir, network)
  const said = readStatus(stores)
  const silentMs = said === undefined ? Infinity : nowMs - said.atMs
  const isRunning = said !== undefined && isAlive(said.pid) && silentMs <= config.status.staleMs
  const generation = currentGeneration(stores) ?? null
  const known = { network, isRunning, generation, repair: said?.repair ?? null }
  const bootstrap = said?.bootstrap ?? null
  if (isRunning) {
    const { isHealthy, reason = null, source, tip } = said
    const tipSlot = tip?.slot ?? null
    return { ...known, isHealthy, reason, tipSlot, tipAgeMs: ageMs(tip, nowMs), source, bootstrap }
  }
  const tip = generation === null ? null : storedTip(config, network, generation)
  const reason =
    said !== undefined && isAlive(said.pid)
      ? `process ${said.pid} has said nothing for ${formatDuration(silentMs / 1_000)}`
      : 'no indexer runs'
  const tipSlot = tip?.slot ?? null
  const tipAgeMs = ageMs(tip, nowMs)
  return { ...known, isHealthy: false, reason, tipSlot, tipAgeMs, source: null, bootstrap }
}

const formatBootstrap = (bootstrap: BootstrapStatus, isRunning: boolean): string => {
  const { kind, places, progress, reason, state, step } = bootstrap
  const what = `${kind}${places.length === 0 ? '' : ` from ${places.join(', ')}`}`
  if (state === 'failed') return `${what} failed at the step ${step}: ${reason ?? 'no reason'}`
  if (state === 'cancelled') return `${what} was cancelled at the step ${step}: ${reason ?? ''}`
  if (state === 'done') return `${what}: done`
  if (!isRunning) return `${what}: stopped at ${step}; the next start goes on with it`
  if (progress === undefined) return `${what}: ${step}`
  const { detail, done, total, unit } = progress
  const percent = Math.floor((done * 100) / total)
  const ofTotal = total > 0 ? ` of ${total.toLocaleString('en')}` : ''
  const share = total > 0 ? ` (${percent} %)` : ''
  return `${what}: ${step}, ${done.toLocaleString('en')}${ofTotal} ${unit}${share}${detail === '' ? '' : `, ${detail}`}`
}

const formatNetwork = (status: NetworkStatus): string => {
  const { bootstrap, generation, isHealthy, isRunning, network, reason, repair, source } = status
  const age = status.tipAgeMs === null ? '' : `, ${formatDuration(status.tipAgeMs / 1_000)} old`
  const tip = status.tipSlot === null ? 'no block yet' : `slot ${status.tipSlot}${age}`
  const lines = [
    `network ${network}: ${isHealthy ? 'healthy' : `not healthy: ${reason ?? 'no reason'}`}`,
    `  tip        ${tip}${generation === null ? '' : ` (store ${generation})`}`,
    ...(source === null || source === '' ? [] : [`  feed       ${source}`]),
    ...(bootstrap === null ? [] : [`  bootstrap  ${formatBootstrap(bootstrap, isRunning)}`]),
    ...(repair === null ? [] : [`  repair     ${repair.step}: ${repair.reason}`]),
  ]
  return `${lines.join('\n')}\n`
}

/**
 * `slotline status`: where each network is. Answers the exit code: 0 where all are healthy, 1 where
 * one is not. Throws where it cannot tell.
 */
export const status = (
  config: Config,
  options: { readonly network?: string; readonly json?: boolean },
): 0 | 1 => {
  const ids = config.networks.map(({ id }) => id)
  if (options.network !== undefined && !ids.includes(options.network))
    throw new Error(`no network ${options.network}`)
  const asked = options.network === undefined ? ids : [options.network]
  const networks = asked.map(id => networkStatus(config, id, Date.now()))
  const isHealthy = networks.every(network => network.isHealthy)
  process.stdout.write(
    options.json
      ? `${JSON.stringify({ isHealthy, networks })}\n`
      : networks.map(formatNetwork).join(''),
  )
  return isHealthy ? 0 : 1
}
