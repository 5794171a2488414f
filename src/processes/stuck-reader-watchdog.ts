import type { Config } from '../config/config.js'
import type { Log } from '../shared/log.js'
import type { Child } from './child.js'

/** A read that has been open for long, as an indexer tells of it. */
export type LongRead = { readonly network: string; readonly pid: number; readonly seconds: number }

/** Ends edges whose reads hold pages of a store for too long. */
export type StuckWatch = {
  onLongRead(read: LongRead): void
  /** This child is alive. */
  onPong(child: Child): void
}

/**
 * An edge with a read over `store.readerSecondsMax` is asked whether it lives. A stopped or stuck
 * one does not answer, and is ended; for one that does, a read may last as long as a client may
 * take for its reply, and then it is stuck in spite of its answer. Other processes are left alone:
 * a backup reads for as long as it takes.
 */
export const createStuckWatch = (options: {
  readonly config: Pick<Config, 'store' | 'rpc' | 'processes'>
  readonly log: Log
  readonly edges: () => readonly Child[]
  readonly onEnd: (edge: Child) => void
}): StuckWatch => {
  const { config, edges, log, onEnd } = options
  const { answerMs } = config.processes
  const secondsMax = config.store.readerSecondsMax + config.rpc.readTimeoutMs / 1_000
  const asked = new Map<number, NodeJS.Timeout>()

  const end = ({ network, pid, seconds }: LongRead): void => {
    // By the id: it may have ended by itself meanwhile.
    const edge = edges().find(child => child.pid === pid)
    if (edge === undefined) return
    log.error(
      { process: edge.name, childPid: pid, network, seconds: Math.round(seconds) },
      'a read is open for too long: its process is ended',
    )
    onEnd(edge)
    edge.restart()
  }
  return {
    onLongRead: read => {
      const edge = edges().find(child => child.pid === read.pid)
      if (edge === undefined || asked.has(read.pid)) return
      if (read.seconds > secondsMax) return end(read)
      const expire = (): void => {
        asked.delete(read.pid)
        end(read)
      }
      asked.set(read.pid, setTimeout(expire, answerMs).unref())
      edge.tell({ kind: 'ping' })
    },
    onPong: ({ pid = 0 }) => {
      clearTimeout(asked.get(pid))
      asked.delete(pid)
    },
  }
}
