import type { Log } from '../shared/log.js'
import type { KnownMachine, MachineDirectory } from './machine-directory.js'
import type { Options } from './options.js'

/** How often the clocks are compared. */
const CHECK_MS = 1_000

export type ClockWatchParts = {
  readonly directory: Pick<MachineDirectory, 'list'>
  /** This machine. */
  readonly machine: string
  readonly options: Pick<Options, 'clockSkewMs'>
  /** Unix milliseconds. */
  readonly now: () => number
  /** Milliseconds of the boot clock. */
  readonly bootMs: () => number
  readonly logger: Log
}

/**
 * Compares the clock of this machine with those of the others, as their beats state them. Leases
 * need no common clock; the end of an access, certificates and minutes of usage do.
 */
export class ClockWatch {
  private readonly parts: ClockWatchParts
  /** Machines whose clocks differ too much, each with what is wrong. */
  private skewed: ReadonlyMap<string, string> = new Map()
  private timer: NodeJS.Timeout | undefined

  constructor(parts: ClockWatchParts) {
    this.parts = parts
  }

  start(): void {
    this.timer = setInterval(() => this.check(), CHECK_MS)
  }

  stop(): void {
    clearInterval(this.timer)
  }

  /** What is wrong, one sentence for each machine. */
  get problems(): readonly string[] {
    return [...this.skewed.values()]
  }

  check(): void {
    const { directory, logger, machine, options } = this.parts
    const before = this.skewed
    const skewed = new Map<string, string>()
    for (const other of directory.list()) {
      const { id } = other
      const aheadMs = id === machine ? 0 : this.aheadMs(other)
      if (Math.abs(aheadMs) <= options.clockSkewMs) continue
      skewed.set(id, explain(id, aheadMs))
      if (!before.has(id)) logger.warn({ aheadMs, machine: id }, explain(id, aheadMs))
    }
    this.skewed = skewed
  }

  /** 0 where its clock is not known; without the time that the beat has taken. */
  private aheadMs({ beat, beatSeenMs, isUnreachable }: KnownMachine): number {
    const { bootMs, now } = this.parts
    if (isUnreachable || beat?.timeMs === undefined || beatSeenMs === undefined) return 0
    return Math.round(beat.timeMs - (now() - (bootMs() - beatSeenMs)))
  }
}

const explain = (id: string, aheadMs: number): string => {
  const seconds = Math.round(Math.abs(aheadMs) / 1_000)
  const difference = `${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'}`
  return `the clock of ${id} is ${difference} that of this machine: synchronise both (NTP)`
}
