import { readUtilisation } from '../access/limiter/access-limiter.js'
import type { LimitTable } from '../access/limiter/limit-table.js'
import type { RateSampler } from '../access/limiter/rate-sampler.js'
import type { AccessService } from '../access/service.js'
import { readHistory, readMethodUsage } from '../access/usage/history-reader.js'
import { readFailures, readRate, readUsage } from '../access/usage/reader.js'
import type { Usage } from '../dashboard/api/usage.js'

/** Usage as the edges of this machine have counted it. */
export const createAccessUsage = (parts: {
  readonly dataDir: string
  readonly table: LimitTable
  readonly rates: Pick<RateSampler, 'ratesOf'>
  readonly accessService: Pick<AccessService, 'find'>
  readonly now: () => number
}): Usage => {
  const { dataDir, table, rates, accessService, now } = parts
  return {
    ofPlace: place => readUsage(dataDir, place, now()),
    ofPeriods: (place, query) => readHistory(dataDir, place, query),
    ofMethods: (place, days) => ({ methods: readMethodUsage(dataDir, place, days) }),
    failures: (accessId, limit) => readFailures(dataDir, accessId, limit),
    ofAccess: accessId => {
      const { networks = [], locations = [] } = accessService.find(accessId) ?? {}
      const places = networks.flatMap(network =>
        locations.map(location => ({ accessId, network, location })),
      )
      const perSecond = readRate(dataDir, places, now())
      return {
        requestsPerSecond: Math.round(perSecond * 10) / 10,
        ...readUtilisation(table, accessId),
        ...rates.ratesOf(accessId),
      }
    },
  }
}
