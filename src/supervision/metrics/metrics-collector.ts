import type { Metrics, MetricsSnapshot } from '../../shared/metrics.js'
import type { Child } from '../child.js'

type Collection = { readonly add: (snapshot: MetricsSnapshot) => void }

/**
 * Collects the metrics of the supervisor and its children for the metrics page. A child that does
 * not answer in time keeps its last values, and `slotline_process_up` marks it.
 */
export class MetricsCollector {
  private readonly own: Metrics
  private readonly timeoutMs: () => number
  private readonly pending = new Map<number, Collection>()
  /** The last snapshot of each process, by its name. */
  private readonly last = new Map<string, MetricsSnapshot>()
  private nextCall = 1

  constructor(own: Metrics, timeoutMs: () => number) {
    this.own = own
    this.timeoutMs = timeoutMs
  }

  /** The metrics of these children and the supervisor's own, within the timeout. */
  async collect(children: readonly Child[]): Promise<readonly MetricsSnapshot[]> {
    const ready = children.filter(child => child.isReady)
    const answered = new Map<string, MetricsSnapshot>()
    if (ready.length > 0) await this.ask(ready, answered)
    for (const { name } of children)
      this.own.gauge('processUp', { child: name }).set(answered.has(name) ? 1 : 0)
    for (const [name, snapshot] of answered) this.last.set(name, snapshot)
    const kept = children.flatMap(({ name }) => this.last.get(name) ?? [])
    return [...kept, await this.own.snapshot()]
  }

  onMetrics(call: number, snapshot: MetricsSnapshot): void {
    this.pending.get(call)?.add(snapshot)
  }

  /** Resolves when all have answered, or at the timeout. */
  private ask(children: readonly Child[], answered: Map<string, MetricsSnapshot>): Promise<void> {
    const call = this.nextCall++
    return new Promise(resolve => {
      const finish = (): void => {
        clearTimeout(timer)
        this.pending.delete(call)
        resolve()
      }
      const timer = setTimeout(finish, this.timeoutMs())
      const add = (snapshot: MetricsSnapshot): void => {
        answered.set(snapshot.process, snapshot)
        if (answered.size >= children.length) finish()
      }
      this.pending.set(call, { add })
      for (const child of children) child.send({ kind: 'collectMetrics', call })
    })
  }
}
