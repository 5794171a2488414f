import type { Config } from '../config/config.js'
import { readFollowerStatus } from '../storage/status-file.js'
import { formatDuration } from './format-duration.js'
import { isAlive } from './service/indexer-process.js'

/** This machine of a cluster in the output of `slotline status`. */
export type OwnMachineStatus = {
  readonly machine: string
  readonly cluster: string
  readonly location: string
  readonly isHealthy: boolean
  /** Why it is not, and what to do. */
  readonly reason: string | null
  readonly leaseMs: number
  /** Slots that each network is behind the other machines of the location. */
  readonly lags: Readonly<Record<string, number>>
  /** What is wrong with the clocks of the machines. */
  readonly clocks: readonly string[]
}

/** Status of this machine from the file of its follower; undefined without a cluster. */
export const ownMachineStatus = (config: Config, nowMs: number): OwnMachineStatus | undefined => {
  const { cluster, dataDir, status } = config
  if (cluster === undefined) return undefined
  const { id, machine, location } = cluster
  const of = { machine, cluster: id, location }
  const written = readFollowerStatus(dataDir)
  const silentMs = written === undefined ? Infinity : nowMs - written.atMs
  const hasProcess = written !== undefined && isAlive(written.pid)
  if (!hasProcess || silentMs > status.staleMs) {
    const reason = hasProcess
      ? `process ${written.pid} has not written its status for ${formatDuration(silentMs / 1_000)}`
      : `no follower runs${written?.leaseMs === 0 && written.reason ? `: ${written.reason}` : ''}`
    return { ...of, isHealthy: false, reason, leaseMs: 0, lags: {}, clocks: [] }
  }
  const { clocks, lagging, lags, leaseMs } = written
  const behind = lagging.map(
    network => `${network} is ${lags[network] ?? 0} slots behind ${location}`,
  )
  const noLease = leaseMs > 0 ? [] : [written.reason ?? 'it has not proved its accesses yet']
  const [reason = null] = [...noLease, ...behind]
  return { ...of, isHealthy: reason === null, reason, leaseMs, lags, clocks }
}

export const formatOwnMachine = (status: OwnMachineStatus): string => {
  const { clocks, cluster, isHealthy, lags, leaseMs, location, machine, reason } = status
  const lag = Object.entries(lags).map(([network, slots]) => `${network} ${slots}`)
  const lines = [
    `machine ${machine} of cluster ${cluster} at ${location}: ` +
      (isHealthy ? 'healthy' : `not healthy: ${reason}`),
    `  lease      ${formatDuration(leaseMs / 1_000)}`,
    ...(lag.length === 0 ? [] : [`  lag        ${lag.join(', ')} slots`]),
    ...clocks.map(text => `  clocks     ${text}`),
  ]
  return `${lines.join('\n')}\n`
}
