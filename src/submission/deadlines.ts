/** Who waits, and hears of it when that has taken too long. */
export type Waiting = { onOverdue(): void }

export type DeadlineModules = {
  /** Monotonic milliseconds. */
  readonly now: () => number
  readonly setTimer: (run: () => void, inMs: number) => unknown
}

/**
 * The same time limit for many: one timer for all of them, because to set and clear one for each takes as long as the rest
 * of their bookkeeping.
 */
export class Deadlines {
  private readonly limitMs: number
  private readonly modules: DeadlineModules
  /** By when, oldest first: all wait equally long. */
  private readonly ends = new Map<Waiting, number>()
  private isTimed = false

  constructor(limitMs: number, modules: DeadlineModules) {
    this.limitMs = limitMs
    this.modules = modules
  }

  begin(waiting: Waiting): void {
    this.ends.set(waiting, this.modules.now() + this.limitMs)
    if (!this.isTimed) this.look(this.limitMs)
  }

  end(waiting: Waiting): void {
    this.ends.delete(waiting)
  }

  private look(inMs: number): void {
    this.isTimed = true
    this.modules.setTimer(() => this.sweep(), inMs)
  }

  private sweep(): void {
    this.isTimed = false
    const nowMs = this.modules.now()
    const overdue: Waiting[] = []
    for (const [waiting, endMs] of this.ends) {
      if (endMs > nowMs) {
        this.look(endMs - nowMs)
        break
      }
      this.ends.delete(waiting)
      overdue.push(waiting)
    }
    for (const waiting of overdue) waiting.onOverdue()
  }
}
