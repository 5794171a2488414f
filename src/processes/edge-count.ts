import { availableParallelism } from 'node:os'
import type { Config } from '../config/config.js'
import { EDGES_MAX } from './shared-memory.js'

/** Edges of one machine: their indexes are 0 to one less. */
export const edgeCountOf = (config: Config): number =>
  config.processes.edgeCount > 0
    ? config.processes.edgeCount
    : Math.min(EDGES_MAX, Math.max(1, availableParallelism() - 1))

/** True where edges leave the others a core: only then may one of them rest less than it could. */
export const leavesCore = (config: Config): boolean => edgeCountOf(config) < availableParallelism()
