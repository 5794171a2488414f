import type { ControlConfig } from '../config/child-config.js'
import { createEdgeNotifier, type MachineEdges } from '../control/accesses/edge-notifier.js'
import type { Log } from '../shared/log.js'
import type { SendEvent } from '../supervision/messages.js'
import { openSharedMemory } from '../supervision/shared-memory.js'

/** The edges of this machine, for the process that writes its access store. */
export const openMachineEdges = (
  { dataDir, processes }: Pick<ControlConfig, 'dataDir' | 'processes'>,
  send: SendEvent,
  log: Log,
): MachineEdges =>
  createEdgeNotifier({
    shared: openSharedMemory(dataDir),
    confirmMs: processes.accessConfirmMs,
    endMs: processes.accessEndMs,
    announce: () => send({ kind: 'accessChanged' }),
    endEdge: pid => {
      log.warn({ childPid: pid }, 'an edge did not acknowledge a change of accesses in time')
      send({ kind: 'edgeUnconfirmed', pid })
    },
    now: () => performance.now(),
  })
