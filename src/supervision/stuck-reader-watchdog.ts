import type { Config } from '../config/config.js'
import type { Log } from '../shared/log.js'
import type { Child } from './child.js'

/** A read that has been open for a long time, as an indexer reports it. */
export type LongRead = { readonly network: string; readonly pid: number; readonly seconds: number }

/** Restarts edges whose reads keep pages of a store from being reused for too long. */
export type StuckReaderWatchdog = {
  onLongRead(read: LongRead): void
  /** This child answered a ping. */
  onPong(child: Child): void
}

/**
 * An edge with a read over `store.readerSecondsMax` is pinged. A stopped or stuck one does not
 * answer and is restarted. One that answers may take as long as a client may take for its reply;
 * after that it is restarted too. Other processes are never restarted: a backup reads for as long
 * as it needs.
 */
export const createStuckReaderWatchdog = (options: {
  readonly config: Pick<Config, 'store' | 'rpc' | 'processes'>
  readonly log: Log
  readonly edges: () => readonly Child[]
  readonly onEnd: (edge: Child) => void
}): StuckReaderWatchdog => {
  const { config, edges, log, onEnd } = options
  const { answerMs } = config.processes
  const secondsMax = config.store.readerSecondsMax + config.rpc.readTimeoutMs / 1_000
  const pinged = new Map<number, NodeJS.Timeout>()

  const restart = ({ network, pid, seconds }: LongRead): void => {
    // By its process id: the process may have ended by itself.
    const edge = edges().find(child => child.pid === pid)
    if (edge === undefined) return
    log.error(
      { process: edge.name, childPid: pid, network, seconds: Math.round(seconds) },
      'a read is open for too long: restarting its process',
    )
    onEnd(edge)
    edge.restart()
  }
  return {
    onLongRead: read => {
      const edge = edges().find(child => child.pid === read.pid)
      if (edge === undefined || pinged.has(read.pid)) return
      if (read.seconds > secondsMax) return restart(read)
      const expire = (): void => {
        pinged.delete(read.pid)
        restart(read)
      }
      pinged.set(read.pid, setTimeout(expire, answerMs).unref())
      edge.send({ kind: 'ping' })
    },
    onPong: ({ pid = 0 }) => {
      clearTimeout(pinged.get(pid))
      pinged.delete(pid)
    },
  }
}
