import type { Config } from '../../config/config.js'
import type { LivenessProbe } from './liveness-probe.js'

/** A read that has been open for a long time, as an indexer reports it. */
export type LongRead = { readonly network: string; readonly pid: number; readonly seconds: number }

type EdgeProbe = Pick<LivenessProbe, 'probe' | 'restart' | 'isPending'>

const MESSAGE = 'a read is open for too long: restarting its process'

/**
 * Restarts edges whose reads keep pages of a store from being reused for too long. An edge with a
 * read over `store.readerSecondsMax` is pinged. A stopped or stuck one does not answer and is
 * restarted. One that answers may take as long as a client may take for its reply; after that it is
 * restarted too. Other processes are never restarted: a backup reads for as long as it needs.
 */
export class StuckReaderWatchdog {
  private readonly probe: EdgeProbe
  private readonly secondsMax: number

  constructor(config: Pick<Config, 'store' | 'rpc'>, probe: EdgeProbe) {
    this.probe = probe
    this.secondsMax = config.store.readerSecondsMax + config.rpc.readTimeoutMs / 1_000
  }

  onLongRead({ network, pid, seconds }: LongRead): void {
    const reason = { message: MESSAGE, fields: { network, seconds: Math.round(seconds) } }
    if (seconds <= this.secondsMax) this.probe.probe(pid, reason)
    else if (!this.probe.isPending(pid)) this.probe.restart(pid, reason)
  }
}
