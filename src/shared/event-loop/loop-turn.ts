/** Shares the time of one turn of the event loop among all work that may take several turns. */
export class LoopTurn {
  private readonly now: () => number
  private readonly turnMs: number
  private endMs: number | undefined
  private readonly waiting: (() => void)[] = []
  private isScheduled = false

  constructor(turnMs: number, now: () => number) {
    this.turnMs = turnMs
    this.now = now
  }

  /** True once the time of this turn is used up. The first call of a turn begins it. */
  get isOver(): boolean {
    if (this.endMs !== undefined) return this.now() >= this.endMs
    this.endMs = this.now() + this.turnMs
    this.schedule()
    return false
  }

  /** Resolves in a later turn: one that waits resumes in each. */
  next(): Promise<void> {
    this.schedule()
    return new Promise(resolve => this.waiting.push(resolve))
  }

  private schedule(): void {
    if (this.isScheduled) return
    this.isScheduled = true
    setImmediate(() => this.begin())
  }

  private begin(): void {
    this.isScheduled = false
    this.endMs = undefined
    this.waiting.shift()?.()
    if (this.waiting.length > 0) this.schedule()
  }
}
