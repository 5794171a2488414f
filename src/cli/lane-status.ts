import type { Config } from '../config/config.js'
import type { LaneStatus } from '../storage/sender-status.js'
import { readSenderStatus } from '../storage/status-file.js'
import { senderPath } from '../submission/store/store-reader.js'
import { formatDuration } from './format-duration.js'
import { isAlive } from './service/indexer-process.js'

/** A lane in the output of `slotline status`. */
export type ShownLane = {
  readonly lane: string
  /** `unknown` where no sender has written lately how it is. */
  readonly state: LaneStatus['state'] | 'unknown'
  /** Unix milliseconds. */
  readonly sinceMs: number | null
}

/** Reads how the configured lanes of a network are, from the file of the sender. */
export const createLanesOf = (
  { dataDir, status: { staleMs } }: Config,
  nowMs: number,
): ((network: string, configured: Config['networks'][number]['lanes']) => readonly ShownLane[]) => {
  const written = readSenderStatus(senderPath(dataDir))
  const isCurrent = written !== undefined && isAlive(written.pid) && nowMs - written.atMs <= staleMs
  const known = isCurrent ? written.lanes : []
  return (network, configured) =>
    configured.map(({ id }) => {
      const found = known.find(({ lane, network: of }) => lane === id && of === network)
      return { lane: id, state: found?.state ?? 'unknown', sinceMs: found?.sinceMs ?? null }
    })
}

export const formatLanes = (lanes: readonly ShownLane[], nowMs: number): readonly string[] =>
  lanes.map(({ lane, sinceMs, state }) => {
    const seconds = sinceMs === null ? undefined : Math.max(0, nowMs - sinceMs) / 1_000
    return `  lane       ${lane}: ${state}${seconds === undefined ? '' : ` for ${formatDuration(seconds)}`}`
  })
