import { createAuthenticate, type Authenticate } from '../access/authenticate.js'
import { openLimitTable } from '../access/limiter/limit-table.js'
import { UsageLimiter } from '../access/limiter/usage-limiter.js'
import { openReader } from '../access/store/store.js'
import { openLiveCells, SWEEP_MS } from '../usage/live-cells.js'
import type { EdgeConfig } from '../config/child-config.js'
import type { Log } from '../shared/log.js'

export type AccessModules = {
  /** This edge's index, and the number of edges of the machine. */
  readonly index: number
  readonly edgeCount: number
  /** Value of accessVersion, NaN once the lease has expired. */
  readonly version: () => number
  readonly log: Log
}

/** Authentication and limits of one edge. */
export type OpenAccess = {
  readonly authenticate: Authenticate
  readonly limiter: UsageLimiter
  close(): Promise<void>
}

/** Opens the access store, the limits and the usage counts of one edge. */
export const openAccess = async (
  config: Pick<EdgeConfig, 'dataDir' | 'access'>,
  { index, edgeCount, version, log }: AccessModules,
): Promise<OpenAccess> => {
  const { dataDir, access: options } = config
  const store = await openReader(dataDir, options.store)
  const table = openLimitTable(dataDir, edgeCount, options.limits)
  // Requests that were in flight when this edge last ended.
  table.clearEdge(index)
  const usage = openLiveCells(dataDir, index, {
    options: options.usage,
    onFault: fault => log.error({ err: fault }, 'usage cannot be counted'),
  })
  const limiter = new UsageLimiter({ table, edgeIndex: index, usage })
  const sweep = setInterval(() => usage.sweep(Date.now()), SWEEP_MS)
  return {
    authenticate: createAuthenticate(store, version, options.authenticate),
    limiter,
    close: async () => {
      clearInterval(sweep)
      usage.close()
      await store.close()
    },
  }
}
