/** Bounds of looking out, and its clock. */
export type LookOutOptions = {
  /** The longest that answers are looked out for at a time, in milliseconds; 0 is never. */
  readonly lookOutMs: number
  /** Monotonic milliseconds. */
  readonly now: () => number
  /** Runs it at the next turn of the event loop, which does not sleep before. */
  readonly nextTurn?: (look: () => void) => void
}

/** Of the usual time of an answer, how much the newest one counts. */
const NEWEST = 1 / 8

/**
 * Keeps the event loop awake while an answer is under way that will be here at once: to fall asleep
 * and be woken takes longer than such an answer's own way. Other work of the loop goes on
 * meanwhile. Where answers of late took longer than the bound nothing is looked out for, and at
 * most half of the time is spent so: a loop that never rests would lose its place before ordinary
 * threads.
 */
export class LookOut {
  readonly #lookOutMs: number
  readonly #now: () => number
  readonly #nextTurn: (look: () => void) => void
  readonly #look = (): void => this.#step()
  /** Answers under way. */
  #awaited = 0
  /** What answers took of late. */
  #usualMs = 0
  #isLooking = false
  #sinceMs = 0
  #restUntilMs = 0

  constructor({ lookOutMs, now, nextTurn = look => void setImmediate(look) }: LookOutOptions) {
    this.#lookOutMs = lookOutMs
    this.#now = now
    this.#nextTurn = nextTurn
  }

  /**
   * A request goes out. Its answer, or what takes its place, must be told by `end`, or that it did
   * not go by `drop`.
   */
  begin(startMs: number): void {
    this.#awaited++
    if (this.#isLooking || startMs < this.#restUntilMs || this.#usualMs >= this.#lookOutMs) return
    this.#isLooking = true
    this.#sinceMs = startMs
    this.#nextTurn(this.#look)
  }

  /** It is over, so long after its `begin`. */
  end(elapsedMs: number): void {
    this.#awaited--
    this.#usualMs += (elapsedMs - this.#usualMs) * NEWEST
  }

  drop(): void {
    this.#awaited--
  }

  #step(): void {
    const nowMs = this.#now()
    const lookedMs = nowMs - this.#sinceMs
    if (this.#awaited > 0 && lookedMs < this.#lookOutMs) return this.#nextTurn(this.#look)
    this.#isLooking = false
    this.#restUntilMs = nowMs + lookedMs
  }
}
