import type { Log } from '../shared/log.js'
import type { KnownMachine, MachineDirectory } from './machine-directory.js'
import type { Options } from './options.js'

/** How often the tips are compared. */
const CHECK_MS = 100
/** The slot time of a chain whose blocks do not show it yet. */
const SLOT_MS = 200
/** A machine that has missed this many beats is compared with no longer. */
const FRESH_BEATS = 3

export type LagWatchParts = {
  readonly directory: Pick<MachineDirectory, 'list'>
  /** This machine and its location. */
  readonly machine: string
  readonly location: string
  /** Ids of networks, in the order of their index. */
  readonly networks: readonly string[]
  readonly options: Pick<Options, 'beatMs' | 'lagMaxMs' | 'lagMs'>
  /** Newest slot of a network on this machine. */
  readonly tip: (network: number) => number | undefined
  /** The time of a slot of its chain. */
  readonly slotMs: (network: number) => number | undefined
  readonly setLagging: (network: number, isLagging: boolean) => void
  /** Milliseconds of the boot clock. */
  readonly bootMs: () => number
  readonly logger: Log
}

/**
 * The newest slot of a network that another machine of the location serves and that a second
 * machine, at whichever location, has as well; 0 without two. One machine that states a slot which
 * does not exist changes nothing, and the most current one of a location never has a better one.
 */
export const witnessedSlot = (
  others: readonly KnownMachine[],
  location: string,
  network: string,
): number => {
  const slotOf = ({ beat }: KnownMachine): number => beat?.slots?.[network] ?? 0
  const isServing = (other: KnownMachine): boolean =>
    other.location === location && other.beat?.health === 'ok'
  const [best] = others.filter(isServing).toSorted((one, two) => slotOf(two) - slotOf(one))
  if (best === undefined) return 0
  const witnesses = others.filter(other => other !== best)
  return Math.min(slotOf(best), Math.max(0, ...witnesses.map(slotOf)))
}

/** Compares the tips of this machine with those of the other machines at its location. */
export class LagWatch {
  private readonly parts: LagWatchParts
  /** When the tip of a network fell too far behind; undefined if it has not. */
  private readonly sinceMs: (number | undefined)[] = []
  private readonly lagging = new Set<number>()
  private timer: NodeJS.Timeout | undefined

  constructor(parts: LagWatchParts) {
    this.parts = parts
  }

  start(): void {
    this.timer = setInterval(() => this.check(), CHECK_MS)
  }

  stop(): void {
    clearInterval(this.timer)
  }

  /** Slots that a network is behind; 0 where no other machine is ahead, or none is known. */
  lag(network: number): number {
    const tip = this.parts.tip(network)
    return tip === undefined ? 0 : Math.max(0, this.best(network) - tip)
  }

  /** The time that these slots take. */
  lagMs(network: number): number {
    return this.lag(network) * (this.parts.slotMs(network) ?? SLOT_MS)
  }

  check(): void {
    for (const network of this.parts.networks.keys()) this.checkNetwork(network)
  }

  private checkNetwork(network: number): void {
    const { bootMs, options, setLagging } = this.parts
    if (this.lagMs(network) <= options.lagMaxMs) {
      this.sinceMs[network] = undefined
      if (this.lagging.delete(network)) this.log(network, 'info', 'a network keeps up again')
      return setLagging(network, false)
    }
    const sinceMs = (this.sinceMs[network] ??= bootMs())
    if (bootMs() - sinceMs < options.lagMs || this.lagging.has(network)) return
    this.lagging.add(network)
    this.log(network, 'warn', 'a network is behind the other machines of the location')
    setLagging(network, true)
  }

  private best(network: number): number {
    const { bootMs, directory, location, machine, networks, options } = this.parts
    // A lease is longer: a machine that stopped a moment ago is no reason to leave this one.
    const sinceMs = bootMs() - FRESH_BEATS * options.beatMs
    const isFresh = ({ id, beatSeenMs = 0 }: KnownMachine): boolean =>
      id !== machine && beatSeenMs > sinceMs
    return witnessedSlot(directory.list().filter(isFresh), location, networks[network] ?? '')
  }

  private log(network: number, level: 'info' | 'warn', text: string): void {
    const { logger, networks, tip } = this.parts
    const fields = { network: networks[network], slot: tip(network), best: this.best(network) }
    logger[level](fields, text)
  }
}
