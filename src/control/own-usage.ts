import { readUtilisation, type LimitTable } from '../access/limiter/limit-table.js'
import { RateSampler, SAMPLE_MS } from '../access/limiter/rate-sampler.js'
import type { ControlConfig } from '../config/child-config.js'
import type { Log } from '../shared/log.js'
import { accessesOf, type QuestionName, type Parameter, type RowOf } from '../usage/queries.js'
import { startRecorder } from '../usage/recorder.js'
import { openUsageReader, UsageWriter, type AskOwn } from '../usage/store.js'

/** What an access uses at this moment, by the table of limits. */
export const useOf = (
  table: LimitTable,
  rates: Pick<RateSampler, 'ratesOf'>,
  accessId: string,
): RowOf<'use'> => {
  const { means, requestsLastSecond } = rates.ratesOf(accessId)
  return {
    requestsLastSecond,
    ...readUtilisation(table, accessId),
    requestsMean: means.requestsPerSecond,
    inFlightMean: means.requestsInFlight,
    socketsMean: means.sockets,
    subscriptionsMean: means.subscriptionsOfSocket,
  }
}

/** Opens the usage of this machine: it is recorded, and rates are measured, until it is closed. */
export const openOwnUsage = (
  { access, dashboard, dataDir }: Pick<ControlConfig, 'access' | 'dashboard' | 'dataDir'>,
  table: LimitTable,
  log: Log,
): { readonly ask: AskOwn; close(): Promise<void> } => {
  const writer = new UsageWriter(dataDir, access.usage)
  const rates = new RateSampler(table, {
    windowSeconds: dashboard.warnings.limitSeconds,
    now: Date.now,
    elapsed: () => performance.now(),
  })
  rates.sample()
  const timer = setInterval(() => rates.sample(), SAMPLE_MS)
  const takePeaks = () => rates.takePeaks()
  const recorder = startRecorder({ writer, takePeaks, log, now: Date.now })
  const ask = openUsageReader(dataDir)
  // Questions about all accesses take longest, and nobody else waits for them.
  const askOfAll = openUsageReader(dataDir)
  return {
    ask: async <Q extends QuestionName>(name: Q, parameters: readonly Parameter[]) => {
      if (name !== 'use')
        return (accessesOf(name, parameters).length === 0 ? askOfAll : ask)(name, parameters)
      return [useOf(table, rates, String(parameters[0]))] as readonly RowOf<Q>[]
    },
    close: async () => {
      clearInterval(timer)
      await recorder.close()
    },
  }
}
