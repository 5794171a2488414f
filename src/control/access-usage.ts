import type { AccessService } from '../access/service.js'
import { openLimitTable, readUtilisation } from '../access/limiter/access-limiter.js'
import { readRate, readUsage } from '../access/usage/reader.js'
import type { Config } from '../config/config.js'
import type { Usage } from '../dashboard/api/usage.js'
import { edgeCountOf } from '../processes/edge-count.js'

/** Usage as the edges of this machine have counted it. */
export const openAccessUsage = (
  config: Config,
  accessService: Pick<AccessService, 'list'>,
  now: () => number,
): Usage => {
  const { dataDir } = config
  const table = openLimitTable(dataDir, edgeCountOf(config), config.access.limits)
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
