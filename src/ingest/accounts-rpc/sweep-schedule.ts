import { setTimeout as wait } from 'node:timers/promises'
import type { Config } from '../../config/config.js'
import { openRpc } from './client.js'
import { runSweep } from './sweep.js'
import type { Corrections } from '../../native/corrections.js'
import type { Log } from '../../shared/log.js'
import type { Metrics } from '../../shared/metrics.js'
import { toRpcTarget } from './target.js'

/** What the sweep of an indexer works with. */
export type SweepParts = {
  readonly target: Config['networks'][number]
  /** The store of the moment. */
  readonly store: () => Corrections
  readonly metrics: Metrics
  readonly log: Log
}

/**
 * Begins to compare the store with the network's upstream RPC, and answers what ends that. A store
 * of all accounts is not swept: its feed brings every change, and one way along it would take
 * months.
 */
export const startSweep = ({ target, store, metrics, log }: SweepParts): (() => void) => {
  const { accountsRpc, scope, id: network } = target
  if (accountsRpc === undefined || scope === undefined || accountsRpc.sweepKeysPerSecond === 0)
    return () => undefined
  const stop = new AbortController()
  const { signal } = stop
  const rpc = openRpc(toRpcTarget(accountsRpc), accountsRpc, { signal })
  const compared = metrics.counter('sweepCompared', { network })
  const corrected = metrics.counter('sweepCorrected', { network })
  const dropped = metrics.counter('sweepDropped', { network })
  const failures = metrics.counter('sweepFailures', { network })
  const roundSeconds = metrics.gauge('sweepRoundSeconds', { network })
  const waiting = metrics.gauge('sweepWaiting', { network })
  const on = {
    compared: (rows: ReturnType<Corrections['compareRows']>) => {
      compared.add(rows.equal + rows.newer + rows.different)
      dropped.add(rows.dropped)
      waiting.set(store().correctionCounts().waiting)
    },
    corrected: (count: number) => {
      corrected.add(count)
      waiting.set(store().correctionCounts().waiting)
    },
    round: (seconds: number) => roundSeconds.set(seconds),
    failed: () => failures.add(1),
    log: (line: { level: 'info' | 'warn' | 'error'; text: string }) =>
      log[line.level]({ network }, line.text),
  }
  const parts = { rpc, store, on, signal, now: () => performance.now() }
  void runSweep(accountsRpc, {
    ...parts,
    sleep: (ms, until) => wait(ms, undefined, { signal: until }),
  })
  return () => {
    stop.abort()
    void rpc.close()
  }
}
