import type { SenderConfig } from '../config/child-config.js'
import type { Log } from '../shared/log.js'
import { createLogThrottle, LOG_PAUSE_MS } from '../shared/log-throttle.js'
import type { WaitingEnd } from '../submission/store/end-table.js'
import type { SubmissionStore } from '../submission/store/submission-store.js'
import { bucketOfCount } from '../usage/latency.js'
import { tipBandOf } from '../usage/performance.js'
import { MINUTE_MS } from '../usage/scope.js'
import { UsageWriter, type EndRow } from '../usage/store.js'

/** Pause between two looks for submissions that have ended. */
const PAUSE_MS = 1_000
/** Submissions of one transaction of the store. */
const COUNT_MAX = 512

export type PerformanceParts = {
  readonly config: Pick<SenderConfig, 'dataDir' | 'networks'>
  readonly store: Pick<SubmissionStore, 'ends'>
  readonly log: Log
  /** Monotonic milliseconds. */
  readonly now: () => number
}

/** Counts how submissions ended, by lane. */
export type PerformanceCount = {
  /** Counts what has ended. */
  count(): Promise<void>
  /** Does so each second. */
  start(): void
  /** Resolves when nothing more is counted. */
  stop(): Promise<void>
}

/** The tip addresses of lanes; of what a route's upstream had, every tip counts. */
const addressesOf = ({ networks }: PerformanceParts['config']) => {
  const known = new Map(
    networks.flatMap(({ id, lanes }) =>
      lanes.map(lane => [`${id} ${lane.id}`, new Set(lane.tipAddresses)] as const),
    ),
  )
  return ({ lane, network }: WaitingEnd) => known.get(`${network} ${lane}`)
}

const toCounts = (value: number | null): string =>
  value === null ? '{}' : `{"${bucketOfCount(value)}":1}`

/**
 * Adds ends to the store of usage, each once: those that it has added are marked in the same
 * transaction, and the marks are removed when no ends are left.
 */
export const createPerformanceCount = ({
  config,
  log,
  now,
  store,
}: PerformanceParts): PerformanceCount => {
  const tipAddresses = addressesOf(config)
  const throttle = createLogThrottle(LOG_PAUSE_MS, now)
  let writer: UsageWriter | undefined
  // A process before this one may have left some.
  let hasMarks = true
  let running: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined

  const toRow = (one: WaitingEnd): EndRow => {
    const { accessId, delayMs, delaySlots, end, id, lane, network, receivedAtMs, tips } = one
    const { location, route } = one
    const addresses = tipAddresses(one)
    const tip = tips
      .filter(({ account }) => addresses?.has(account) ?? true)
      .reduce((sum, { lamports }) => sum + lamports, 0)
    const minute = Math.floor(receivedAtMs / MINUTE_MS)
    const delays = [toCounts(delaySlots), toCounts(delayMs)] as const
    const scope = [id, accessId, network, location, route, lane] as const
    return [...scope, minute, tipBandOf(tip), tip, end, ...delays]
  }
  const run = async (): Promise<void> => {
    const { ends: found } = store
    if (found === undefined) return
    for (;;) {
      const { ends, ids } = found.waitingEnds(COUNT_MAX)
      if (ids.length === 0 && !hasMarks) return
      writer ??= new UsageWriter(config.dataDir)
      if (ids.length === 0) {
        await writer.forgetEnds()
        hasMarks = false
        return
      }
      hasMarks = true
      await writer.addEnds(ends.map(toRow))
      await found.removeEnds(ids)
    }
  }
  const runLogged = async (): Promise<void> => {
    try {
      await run()
    } catch (err) {
      throttle(suppressedCount =>
        log.error({ err, suppressedCount }, 'how submissions ended cannot be counted'),
      )
    }
  }
  const count = (): Promise<void> => {
    running ??= runLogged().finally(() => (running = undefined))
    return running
  }
  return {
    count,
    start: () => {
      if (timer !== undefined) return
      timer = setInterval(() => void count(), PAUSE_MS)
      timer.unref()
    },
    stop: async () => {
      clearInterval(timer)
      timer = undefined
      await running
    },
  }
}
