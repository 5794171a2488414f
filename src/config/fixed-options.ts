import { isDeepStrictEqual } from 'node:util'
import type { Config } from './config.js'
import { edgeCountOf } from './edge-count.js'

/**
 * What processes share while they are replaced one at a time: folders, the layout of mapped files,
 * sockets, and the machine in its cluster.
 */
const FIXED: Readonly<Record<string, (config: Config) => unknown>> = {
  dataDir: ({ dataDir }) => dataDir,
  cluster: ({ cluster }) =>
    cluster && { id: cluster.id, machine: cluster.machine, location: cluster.location },
  'networks.id': ({ networks }) => networks.map(({ id }) => id),
  'processes.edgeCount': edgeCountOf,
  'processes.disableCpuIdle': ({ processes }) => processes.disableCpuIdle,
  'access.limits.accessesMax': ({ access }) => access.limits.accessesMax,
}

/** Names of the options that differ and cannot change while the service runs. */
export const fixedDifferences = (from: Config, to: Config): string[] =>
  Object.keys(FIXED).filter(name => !isDeepStrictEqual(FIXED[name]?.(from), FIXED[name]?.(to)))
