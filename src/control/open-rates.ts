import { join } from 'node:path'
import type { LimitTable } from '../access/limiter/limit-table.js'
import { RateHistory } from '../access/limiter/rate-history.js'
import { RateSampler, SAMPLE_MS } from '../access/limiter/rate-sampler.js'
import type { ControlConfig } from '../config/child-config.js'
import type { Log } from '../shared/log.js'

export type OpenRates = { readonly rates: RateSampler; close(): void }

/** Measures the accesses of this machine each second until it is closed. */
export const openRates = (
  { access, dashboard, dataDir }: Pick<ControlConfig, 'access' | 'dashboard' | 'dataDir'>,
  table: LimitTable,
  log: Log,
): OpenRates => {
  const history = new RateHistory(join(dataDir, 'rates'), access.limits.accessesMax)
  const rates = new RateSampler(table, history, {
    windowSeconds: dashboard.warnings.limitSeconds,
    now: Date.now,
    elapsed: () => performance.now(),
  })
  let isFailing = false
  const sample = (): void => {
    try {
      rates.sample()
      isFailing = false
    } catch (error) {
      // The disk is full.
      if (!isFailing) log.error({ err: error }, 'rates of accesses cannot be recorded')
      isFailing = true
    }
  }
  sample()
  const timer = setInterval(sample, SAMPLE_MS)
  return { rates, close: () => clearInterval(timer) }
}
