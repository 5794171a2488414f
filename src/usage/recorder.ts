import type { Log } from '../shared/log.js'
import type { PeakRow, UsageWriter } from './store.js'

const RECORD_MS = 1_000
const PRUNE_MS = 3_600_000
/** Peaks that wait for a store that cannot be written. */
const PEAKS_MAX = 65_536

export type RecorderParts = {
  readonly writer: UsageWriter
  /** Peaks of accesses since the last call. */
  readonly takePeaks: () => readonly PeakRow[]
  readonly log: Log
  readonly now: () => number
}

/**
 * Adds each second what the edges have counted to the store, on a thread of its own. Where that
 * fails, for instance on a full disk, they count on in their cells, and it is added later.
 */
export const startRecorder = ({ writer, takePeaks, log, now }: RecorderParts) => {
  let prunedMs = 0
  let isFailing = false
  let peaks: readonly PeakRow[] = []
  const run = async (): Promise<void> => {
    try {
      peaks = [...peaks, ...takePeaks()].slice(-PEAKS_MAX)
      await writer.record()
      await writer.addPeaks(peaks)
      peaks = []
      if (now() - prunedMs >= PRUNE_MS) {
        prunedMs = now()
        await writer.prune(now())
      }
      isFailing = false
    } catch (error) {
      if (!isFailing) log.error({ err: error }, 'usage cannot be recorded')
      isFailing = true
    }
  }
  let running: Promise<void> | undefined
  const start = (): void => {
    running ??= run().finally(() => (running = undefined))
  }
  start()
  const timer = setInterval(start, RECORD_MS)
  return {
    close: async (): Promise<void> => {
      clearInterval(timer)
      await running
    },
  }
}
