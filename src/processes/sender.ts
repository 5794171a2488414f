import { raiseLoopPriority } from '../edge/event-loop-priority.js'
import { meterLog, meterLoop } from '../edge/metrics.js'
import { PeerLookups } from '../sender/peer-lookups.js'
import { openSender, type Sender } from '../sender/sender.js'
import { senderPath } from '../submission/store/store-reader.js'
import { countStates } from '../storage/sender-status.js'
import { startStatusWriter } from '../storage/status-writer.js'
import { openLog } from '../shared/log.js'
import { createMetrics } from '../shared/metrics.js'
import type { Command } from '../supervision/messages.js'
import { openSharedMemory } from '../supervision/shared-memory.js'
import { sendMetrics, type Start } from './start.js'

/** The sender: everything that is submitted leaves the machine through it. */
export const startSender: Start<'sender'> = async ({ config }, send) => {
  const { log, flush, droppedCount } = openLog('sender', config.log)
  const metrics = createMetrics('sender')
  meterLog(metrics, droppedCount)
  const shared = openSharedMemory(config.dataDir)
  const { accessVersion, confirmVersion, enterSender, leasedVersion } = shared
  const peers =
    config.cluster &&
    new PeerLookups({
      options: config.cluster,
      request: (call, query) => send({ kind: 'submissionRequested', call, query }),
    })
  const index = enterSender(process.pid)
  const confirm = (): void => confirmVersion(index, accessVersion())
  const timer = setInterval(confirm, config.processes.tipPollMs)
  const sender: Sender = await openSender(config, {
    log,
    metrics,
    now: () => performance.now(),
    version: leasedVersion,
    findElsewhere: peers && (query => peers.find(query)),
  })
  meterLoop(metrics)
  const describe = () => {
    const lanes = sender.lanes()
    shared.reportLanes(countStates(lanes))
    return { lanes }
  }
  const { writeMs } = config.status
  const status = startStatusWriter(senderPath(config.dataDir), writeMs, describe, log)
  // Last: a thread inherits the slice of the thread that creates it. Not realtime: edges are, and
  // leave one core. As a realtime thread it gave submissions a p99 of 1.2 to 3.2 ms, as an ordinary
  // one 0.8 to 3.8 ms.
  raiseLoopPriority({ sliceMicros: config.processes.edgeSliceMicros, isRealtime: false }, log)
  const onCommand = (command: Command): void => {
    // Whatever is begun after this turn of the event loop is begun under the new version.
    if (command.kind === 'accessChanged') confirm()
    else if (command.kind === 'committed') sender.onCommitted(command.network, command.slot)
    else if (command.kind === 'submissionFound') peers?.onFound(command.call, command.found)
    else if (command.kind === 'collectMetrics') void sendMetrics(metrics, send, command.call)
  }
  return {
    onCommand,
    drain: async () => {
      // Its successor writes the file from now on.
      status.stop()
      await sender.drain()
      clearInterval(timer)
      flush()
    },
  }
}
