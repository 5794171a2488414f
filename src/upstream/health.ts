import type { Log } from '../shared/log.js'
import type { UpstreamFailure } from './errors.js'
import type { Pool } from './pool.js'

export type HealthModules = {
  /** Gets hosts, never URLs. */
  readonly log: Log
  /** Monotonic milliseconds. */
  readonly now: () => number
}

/** Which URLs of an upstream failed recently. */
export class Health {
  private readonly restMs: number
  private readonly modules: HealthModules
  private readonly restUntilMs = new Map<Pool, number>()

  constructor(restMs: number, modules: HealthModules) {
    this.restMs = restMs
    this.modules = modules
  }

  /** The first of the pools that did not fail recently, else the first that did. */
  choose(pools: readonly Pool[]): Pool | undefined {
    return pools.find(pool => !this.isResting(pool)) ?? pools[0]
  }

  onFailure(pool: Pool, { kind, message }: UpstreamFailure): void {
    const { log, now } = this.modules
    if (!this.isResting(pool))
      log.warn({ host: pool.host, outcome: kind, reason: message }, 'an upstream failed')
    this.restUntilMs.set(pool, now() + this.restMs)
  }

  onReachable(pool: Pool): void {
    if (this.isResting(pool)) this.modules.log.info({ host: pool.host }, 'an upstream is back')
    this.restUntilMs.delete(pool)
  }

  /** Whether it failed recently, and was not reached since. */
  isResting(pool: Pool): boolean {
    return (this.restUntilMs.get(pool) ?? -Infinity) > this.modules.now()
  }
}
