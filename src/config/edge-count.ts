import { availableParallelism } from 'node:os'
import type { Config } from './config.js'

/** Most slots of edges: the number of cells in the shared memory, without those of senders. */
export const EDGE_SLOTS_MAX = 254
/** Most edges of one machine: two slots are for the process of gRPC, and for a successor. */
const EDGES_MAX = EDGE_SLOTS_MAX - 2

/** Number of edges of one machine. */
export const edgeCountOf = (config: Pick<Config, 'processes'>): number =>
  config.processes.edgeCount > 0
    ? config.processes.edgeCount
    : Math.min(EDGES_MAX, Math.max(1, availableParallelism() - 1))

/**
 * Slots in what the edges of a machine share, as the limits of accesses. One more than edges and
 * the process of gRPC: a successor has its own slot while its predecessor drains, and the requests
 * of both are counted.
 */
export const edgeSlotsOf = (config: Pick<Config, 'processes'>): number => edgeCountOf(config) + 2

/** Whether the edges leave a core to the other processes. Only then may an edge be realtime. */
export const leavesCore = (config: Pick<Config, 'processes'>): boolean =>
  edgeCountOf(config) < availableParallelism()
