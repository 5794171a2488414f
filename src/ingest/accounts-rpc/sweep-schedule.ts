import { setTimeout as wait } from 'node:timers/promises'
import { runSweep } from './sweep.js'
import type { Corrections } from '../../native/corrections.js'
import type { Log } from '../../shared/log.js'
import type { Metrics } from '../../shared/metrics.js'
import type { ListedScope } from './scope.js'
import { toRpcTarget, type AccountsRpcConfig } from './target.js'

/** Dependencies of an indexer's sweep. */
export type SweepParts = {
  readonly network: {
    readonly id: string
    readonly accountsRpc?: AccountsRpcConfig | undefined
    readonly scope?: ListedScope | undefined
  }
  /** The live store, which a bootstrap may replace. */
  readonly store: () => Corrections
  readonly metrics: Metrics
  readonly log: Log
}

/**
 * Starts to compare the store with the network's upstream RPC; returns a function that stops it. A
 * store of all accounts is not swept: its feed delivers every change, and one pass would take
 * months.
 */
export const startSweep = (parts: SweepParts): (() => void) => {
  const { store, metrics, log } = parts
  const { accountsRpc, scope, id: network } = parts.network
  if (accountsRpc === undefined || scope === undefined || accountsRpc.sweepKeysPerSecond === 0)
    return () => undefined
  const stop = new AbortController()
  const { signal } = stop
  const target = toRpcTarget(accountsRpc)
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
  const sweep = async (): Promise<void> => {
    // Loaded where it is needed: its HTTP client is most of what an indexer would load.
    const { Rpc } = await import('./client.js')
    const rpc = new Rpc(target, accountsRpc, { signal })
    await runSweep(accountsRpc, {
      rpc,
      store,
      on,
      signal,
      now: () => performance.now(),
      sleep: (ms, until) => wait(ms, undefined, { signal: until }),
    })
    await rpc.close()
  }
  void sweep()
  return () => stop.abort()
}
