import type { Log } from '../../shared/log.js'
import type { Child } from '../child.js'

export type HangWatchdogParts = {
  /** How often each child is asked. */
  readonly pingMs: number
  /** A child that has answered nothing for this long is restarted. */
  readonly hungMs: number
  /** The children to ask; those that are not ready yet are skipped. */
  readonly children: () => readonly Child[]
  readonly log: Log
  readonly onHung: (child: Child) => void
}

/**
 * Restarts children that answer nothing: stopped, stuck or swapped out. A busy child answers
 * between two turns of its event loop. Pings are counted, not time, so that a pause of the
 * supervisor itself restarts no child.
 */
export class HangWatchdog {
  private readonly parts: HangWatchdogParts
  private readonly pingsMax: number
  /** Pings since the last answer, by process id. */
  private unanswered = new Map<number, number>()
  private readonly timer: NodeJS.Timeout

  constructor(parts: HangWatchdogParts) {
    this.parts = parts
    this.pingsMax = Math.max(1, Math.ceil(parts.hungMs / parts.pingMs))
    this.timer = setInterval(() => this.ping(), parts.pingMs)
    this.timer.unref()
  }

  /** A child has answered a ping. */
  onPong({ pid }: Child): void {
    if (pid !== undefined) this.unanswered.delete(pid)
  }

  stop(): void {
    clearInterval(this.timer)
  }

  private ping(): void {
    const before = this.unanswered
    // What is left of children that have ended is dropped.
    this.unanswered = new Map()
    for (const child of this.parts.children()) {
      const { pid } = child
      if (pid === undefined || !child.isReady) continue
      const count = before.get(pid) ?? 0
      if (count >= this.pingsMax) this.restart(child, pid)
      else {
        this.unanswered.set(pid, count + 1)
        child.send({ kind: 'ping' })
      }
    }
  }

  private restart(child: Child, pid: number): void {
    const { hungMs, log, onHung } = this.parts
    if (!child.restart()) return
    log.error(
      { process: child.name, childPid: pid, silentMs: hungMs },
      'a child does not answer: restarting its process',
    )
    onHung(child)
  }
}
