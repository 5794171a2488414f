import type { Metrics, MetricsSnapshot } from '../shared/metrics.js'
import type { Child } from './child.js'

type Collection = { readonly add: (snapshot: MetricsSnapshot) => void }

/** Collects the metrics of the supervisor and its children for control's metrics page. */
export class MetricsCollector {
  private readonly own: Metrics
  private readonly timeoutMs: number
  private readonly pending = new Map<number, Collection>()
  private nextCall = 1

  constructor(own: Metrics, timeoutMs: number) {
    this.own = own
    this.timeoutMs = timeoutMs
  }

  /**
   * Requests the metrics of these children. Resolves when all have answered, or at the timeout with
   * what has arrived.
   */
  collect(children: readonly Child[]): Promise<readonly MetricsSnapshot[]> {
    const call = this.nextCall++
    const snapshots: MetricsSnapshot[] = []
    return new Promise(resolve => {
      const finish = (): void => {
        clearTimeout(timer)
        this.pending.delete(call)
        resolve(snapshots)
      }
      const timer = setTimeout(finish, this.timeoutMs)
      const add = (snapshot: MetricsSnapshot): void => {
        snapshots.push(snapshot)
        if (snapshots.length > children.length) finish()
      }
      this.pending.set(call, { add })
      for (const child of children) child.send({ kind: 'collectMetrics', call })
      void this.own.snapshot().then(add)
    })
  }

  onMetrics(call: number, snapshot: MetricsSnapshot): void {
    this.pending.get(call)?.add(snapshot)
  }
}
