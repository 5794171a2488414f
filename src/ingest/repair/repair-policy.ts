import type { Options, RepairStepName } from './options.js'

/** What to do next about a feed that is unhealthy. */
export type Rung =
  /** Its reader goes on trying by itself. */
  | { readonly kind: 'wait' }
  | { readonly kind: 'source'; readonly index: number }
  | { readonly kind: 'step'; readonly step: RepairStepName }
  /** Every source was tried: the next one after a pause. */
  | { readonly kind: 'pause'; readonly ms: number }

/** What the ladder decides from: the configured sources and steps, and a clock. */
export type LadderParts = {
  readonly sourceCount: number
  readonly steps: readonly RepairStepName[]
  readonly options: Options
  readonly now: () => number
  /** Somebody cancelled a step, and nothing has changed since: none is taken. */
  readonly isHeld: () => boolean
}

/**
 * The order of what is tried: each source once, then, for a gap, each step, then the sources again
 * after a pause. No I/O. A replay of the source in use comes before all of it; its reader does
 * that.
 */
export class Ladder {
  private readonly parts: LadderParts
  private readonly tried = new Set<number>()
  private source = 0
  private stepIndex = 0
  private attempts = 0
  private stepsBegunMs: number | undefined
  private hasGap = false

  constructor(parts: LadderParts) {
    this.parts = parts
  }

  get sourceIndex(): number {
    return this.source
  }

  /** A block was committed: whatever comes is a new failure. */
  onHealthy(): void {
    this.tried.clear()
    this.hasGap = false
    this.stepIndex = 0
    this.attempts = 0
  }

  /** The source in use brings no blocks. `cause` is the reader's word for why. */
  onUnhealthy(cause: string): Rung {
    const { sourceCount, options } = this.parts
    // A full disk is as full under another feed.
    if (cause === 'store') return { kind: 'wait' }
    // It stays one while the sources that could close it cannot be reached.
    this.hasGap ||= cause === 'gap'
    this.tried.add(this.source)
    const next = this.nextSource()
    if (!this.tried.has(next)) return this.turnTo(next)
    // Blocks that no source has: only another state of the accounts helps. What cannot be reached
    // may come back.
    const step = this.hasGap ? this.nextStep() : undefined
    if (step !== undefined) return { kind: 'step', step }
    return sourceCount > 1 || this.parts.steps.length > 0
      ? { kind: 'pause', ms: options.sourcesPauseMs }
      : { kind: 'wait' }
  }

  /** The pause is over: the next source has its turn, and after it each other. */
  onPauseEnd(): Rung {
    this.tried.clear()
    return this.turnTo(this.nextSource())
  }

  /** The step's try failed. */
  onStepFailed(): Rung {
    const step = this.nextStep()
    if (step !== undefined) return { kind: 'step', step }
    return { kind: 'pause', ms: this.parts.options.sourcesPauseMs }
  }

  private nextSource(): number {
    return (this.source + 1) % this.parts.sourceCount
  }

  private turnTo(index: number): Rung {
    this.source = index
    return { kind: 'source', index }
  }

  private nextStep(): RepairStepName | undefined {
    const { steps, options, now, isHeld } = this.parts
    if (isHeld()) return undefined
    if (this.stepIndex === 0 && this.attempts === 0) {
      const begun = this.stepsBegunMs
      if (begun !== undefined && now() - begun < options.stepsPauseMs) return undefined
      this.stepsBegunMs = now()
    }
    if (this.attempts >= options.stepAttemptsMax) {
      this.stepIndex += 1
      this.attempts = 0
    }
    const step = steps[this.stepIndex]
    if (step !== undefined) {
      this.attempts += 1
      return step
    }
    // The next run begins from the first.
    this.stepIndex = 0
    this.attempts = 0
    return undefined
  }
}
