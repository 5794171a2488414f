import { availableParallelism } from 'node:os'
import type { Config } from '../config.js'
import type { Log } from '../shared/log.js'
import { setRealtime, setSlice } from '../shared/native.js'
import { edgeCountOf } from './edge-count.js'

/**
 * Has this thread, an edge's event loop, come before the others: as a realtime thread, or else by short turns of the
 * processor. What it is may be seen by `ps -L -o cls,comm`.
 */
export const comeFirst = (config: Config, log: Log): void => {
  const { edgeRealtime, edgeSliceMicros } = config.processes
  try {
    // Where edges take every core, nothing would be left for the indexer.
    const isSpared = edgeCountOf(config) < availableParallelism()
    if (edgeRealtime && isSpared && setRealtime()) return
    setSlice(edgeSliceMicros)
  } catch (error) {
    log.warn({ err: error }, 'the event loop keeps the turns of the processor that others have')
  }
}
