import { availableParallelism } from 'node:os'
import type { Config } from './config.js'

/** Maximum edges of one machine: the number of cells in the shared memory. */
export const EDGES_MAX = 256

/** Number of edges of one machine; their indexes start at 0. */
export const edgeCountOf = (config: Pick<Config, 'processes'>): number =>
  config.processes.edgeCount > 0
    ? config.processes.edgeCount
    : Math.min(EDGES_MAX, Math.max(1, availableParallelism() - 1))

/** Whether the edges leave a core to the other processes. Only then may an edge be realtime. */
export const leavesCore = (config: Pick<Config, 'processes'>): boolean =>
  edgeCountOf(config) < availableParallelism()
