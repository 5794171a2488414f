/** Who waits, and hears of it when that has taken too long. */
export type Waiting = { onOverdue(): void }

export type DeadlineModules = {
  /** Monotonic milliseconds. */
  readonly now: () => number
  readonly setTimer: (run: () => void, inMs: number) => unknown
}

/** That somebody waits, until it is ended. */
export class Deadline {
  readonly waiting: Waiting
  /** Monotonic milliseconds. */
  readonly endMs: number
  private previous: Deadline = this
  private next: Deadline = this

  constructor(waiting: Waiting, endMs: number) {
    this.waiting = waiting
    this.endMs = endMs
  }

  /** Undefined where this one is alone. */
  get following(): Deadline | undefined {
    return this.next === this ? undefined : this.next
  }

  linkBefore(other: Deadline): void {
    this.previous = other.previous
    this.next = other
    this.previous.next = this
    other.previous = this
  }

  unlink(): void {
    this.previous.next = this.next
    this.next.previous = this.previous
    this.previous = this
    this.next = this
  }
}

/**
 * The same time limit for many: one timer for all of them, because to set and clear one for each
 * takes as long as the rest of their bookkeeping. A list, because a map of few entries is built
 * anew with nearly each of them.
 */
export class Deadlines {
  private readonly limitMs: number
  private readonly modules: DeadlineModules
  /** Before the oldest and after the newest: all wait equally long. */
  private readonly ends = new Deadline({ onOverdue: () => {} }, Infinity)
  private isTimed = false

  constructor(limitMs: number, modules: DeadlineModules) {
    this.limitMs = limitMs
    this.modules = modules
  }

  begin(waiting: Waiting): Deadline {
    const deadline = new Deadline(waiting, this.modules.now() + this.limitMs)
    deadline.linkBefore(this.ends)
    if (!this.isTimed) this.look(this.limitMs)
    return deadline
  }

  /** Nothing happens where it is over. */
  end(deadline: Deadline): void {
    deadline.unlink()
  }

  private look(inMs: number): void {
    this.isTimed = true
    this.modules.setTimer(() => this.sweep(), inMs)
  }

  private sweep(): void {
    this.isTimed = false
    const nowMs = this.modules.now()
    const overdue: Waiting[] = []
    for (;;) {
      const oldest = this.ends.following
      if (oldest === undefined) break
      if (oldest.endMs > nowMs) {
        this.look(oldest.endMs - nowMs)
        break
      }
      oldest.unlink()
      overdue.push(oldest.waiting)
    }
    for (const waiting of overdue) waiting.onOverdue()
  }
}
