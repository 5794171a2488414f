import type { Log } from '../shared/log.js'
import type { Child } from './child.js'

export type UnconfirmedEdgeWatchdogParts = {
  /** An edge that has answered nothing within this time is restarted. */
  readonly answerMs: number
  readonly edges: () => readonly Child[]
  readonly log: Log
  readonly onEnd: (edge: Child) => void
}

/**
 * Asks edges that have not confirmed a change of accesses in time whether they still run. One that
 * is only busy confirms before it answers: it receives the change and the question in this order.
 * One that answers nothing may still answer admitted requests later, and is restarted.
 */
export class UnconfirmedEdgeWatchdog {
  private readonly parts: UnconfirmedEdgeWatchdogParts
  private readonly asked = new Map<number, NodeJS.Timeout>()

  constructor(parts: UnconfirmedEdgeWatchdogParts) {
    this.parts = parts
  }

  onUnconfirmed(pid: number): void {
    const { answerMs } = this.parts
    // By its process id: it may have been replaced by now.
    const edge = this.parts.edges().find(child => child.pid === pid)
    if (edge === undefined || this.asked.has(pid)) return
    this.asked.set(pid, setTimeout(() => this.restart(edge, pid), answerMs).unref())
    edge.send({ kind: 'ping' })
  }

  /** A child has answered a ping. */
  onPong({ pid = 0 }: Child): void {
    clearTimeout(this.asked.get(pid))
    this.asked.delete(pid)
  }

  private restart(edge: Child, pid: number): void {
    const { log, onEnd } = this.parts
    this.asked.delete(pid)
    if (edge.pid !== pid) return
    log.error(
      { process: edge.name, childPid: pid },
      'an edge neither confirms a change of accesses nor answers: restarting its process',
    )
    onEnd(edge)
    edge.restart()
  }
}
