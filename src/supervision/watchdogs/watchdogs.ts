import type { Config } from '../../config/config.js'
import type { Log } from '../../shared/log.js'
import type { Metrics } from '../../shared/metrics.js'
import type { Child } from '../child.js'
import { HangWatchdog } from './hang-watchdog.js'
import { LivenessProbe } from './liveness-probe.js'
import type { Role } from '../messages.js'
import { StuckReaderWatchdog } from './stuck-reader-watchdog.js'

export type WatchdogParts = {
  readonly children: { readonly all: readonly Child[]; withRole(role: Role): readonly Child[] }
  readonly log: Log
  readonly metrics: Metrics
}

/** What restarts processes of the service that are stuck. */
export type Watchdogs = {
  readonly probe: LivenessProbe
  readonly reader: StuckReaderWatchdog
  readonly hang: HangWatchdog
}

/** Watches the children, with the bounds of a configuration. */
export const openWatchdogs = (
  config: Config,
  { children, log, metrics }: WatchdogParts,
): Watchdogs => {
  const { answerMs, hungMs, pingMs } = config.processes
  const countStuck = ({ role }: Child): void => metrics.counter('childStuck', { role }).add(1)
  // Those that confirm changes of accesses.
  const probed = (): readonly Child[] =>
    (['edge', 'geyser', 'sender'] as const).flatMap(role => children.withRole(role))
  const probe = new LivenessProbe({ answerMs, children: probed, log, onEnd: countStuck })
  // A chain provider is not restarted: its chain is in its memory.
  const watched = (): readonly Child[] =>
    children.all.filter(({ role }) => role !== 'chain-provider')
  return {
    probe,
    reader: new StuckReaderWatchdog(config, probe),
    hang: new HangWatchdog({ hungMs, pingMs, children: watched, log, onHung: countStuck }),
  }
}
