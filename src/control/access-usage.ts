import { readUtilisation } from '../access/limiter/access-limiter.js'
import type { LimitTable } from '../access/limiter/limit-table.js'
import type { AccessService } from '../access/service.js'
import { readRate, readUsage } from '../access/usage/reader.js'
import type { Usage } from '../dashboard/api/usage.js'

/** Usage as the edges of this machine have counted it. */
export const createAccessUsage = (parts: {
  readonly dataDir: string
  readonly table: LimitTable
  readonly accessService: Pick<AccessService, 'list'>
  readonly now: () => number
}): Usage => {
  const { dataDir, table, accessService, now } = parts
  return {
    ofToken: tokenId => readUsage(dataDir, tokenId, now()),
    ofAccess: accessId => {
      const tokenIds = accessService.list(accessId).map(({ tokenId }) => tokenId)
      const perSecond = readRate(dataDir, tokenIds, now())
      return {
        requestsPerSecond: Math.round(perSecond * 10) / 10,
        ...readUtilisation(table, accessId),
      }
    },
  }
}
