import type { Options, RepairStepName } from './options.js'

/** What to do next about an unhealthy feed. */
export type RepairAction =
  /** Its reader retries by itself. */
  | { readonly kind: 'wait' }
  | { readonly kind: 'source'; readonly index: number }
  | { readonly kind: 'step'; readonly step: RepairStepName }
  /** Every source failed: the next one after a pause. */
  | { readonly kind: 'pause'; readonly ms: number }

/** What the policy decides from: the configured sources and steps, and a clock. */
export type RepairPolicyParts = {
  readonly sourceCount: number
  readonly steps: readonly RepairStepName[]
  readonly options: Options
  readonly now: () => number
  /** An operator cancelled a step and nothing has changed since: no step is taken. */
  readonly isAutoRepairSuspended: () => boolean
}

/**
 * The order of repair actions: each source once; then, for a gap, each step; then, after a pause,
 * the sources again. Performs no I/O. Before all of this the reader itself asks its source for a
 * replay.
 */
export class RepairPolicy {
  private readonly parts: RepairPolicyParts
  private readonly tried = new Set<number>()
  private source = 0
  private stepIndex = 0
  private attempts = 0
  /** When the next run through the steps may begin. */
  private nextStepsMs = -Infinity
  /** Steps of this run that loaded something, or may have. */
  private loadedCount = 0
  private hasGap = false

  constructor(parts: RepairPolicyParts) {
    this.parts = parts
  }

  get sourceIndex(): number {
    return this.source
  }

  /** A block was committed: the next failure is a new one. */
  onHealthy(): void {
    this.tried.clear()
    this.hasGap = false
    this.stepIndex = 0
    this.attempts = 0
  }

  /** The source in use delivers no blocks. `cause` is the reader's. */
  onUnhealthy(cause: string): RepairAction {
    const { sourceCount, options } = this.parts
    // Another feed does not help a store that cannot be written.
    if (cause === 'store') return { kind: 'wait' }
    // It stays a gap while the sources that could close it are unreachable.
    this.hasGap ||= cause === 'gap'
    this.tried.add(this.source)
    const next = this.nextSource()
    if (!this.tried.has(next)) return this.switchTo(next)
    // Blocks that no source has need another state of the accounts. An unreachable source may come
    // back.
    const step = this.hasGap ? this.nextStep() : undefined
    if (step !== undefined) return { kind: 'step', step }
    return sourceCount > 1 || this.parts.steps.length > 0
      ? { kind: 'pause', ms: options.sourcesPauseMs }
      : { kind: 'wait' }
  }

  /** The pause is over: every source is tried again. */
  onPauseEnd(): RepairAction {
    this.tried.clear()
    return this.switchTo(this.nextSource())
  }

  /**
   * An attempt of a step failed. Where nothing was loaded because its server is not available,
   * another attempt at once is useless, and a run of nothing but such steps costs nothing: the
   * next one follows after the pause of the sources. A node is away for minutes when it restarts.
   */
  onStepFailed(isUnavailable = false): RepairAction {
    if (isUnavailable) {
      this.loadedCount -= 1
      this.attempts = this.parts.options.stepAttemptsMax
    }
    const step = this.nextStep()
    if (step !== undefined) return { kind: 'step', step }
    return { kind: 'pause', ms: this.parts.options.sourcesPauseMs }
  }

  private nextSource(): number {
    return (this.source + 1) % this.parts.sourceCount
  }

  private switchTo(index: number): RepairAction {
    this.source = index
    return { kind: 'source', index }
  }

  private nextStep(): RepairStepName | undefined {
    const { steps, options, isAutoRepairSuspended } = this.parts
    if (isAutoRepairSuspended()) return undefined
    if (this.stepIndex === 0 && this.attempts === 0 && !this.startSteps()) return undefined
    if (this.attempts >= options.stepAttemptsMax) {
      this.stepIndex += 1
      this.attempts = 0
    }
    const step = steps[this.stepIndex]
    if (step !== undefined) {
      this.attempts += 1
      this.loadedCount += 1
      return step
    }
    // The feed goes on during the pause and may report the gap again.
    if (this.loadedCount <= 0) this.nextStepsMs = this.parts.now() + options.sourcesPauseMs
    // The next run begins with the first step.
    this.stepIndex = 0
    this.attempts = 0
    return undefined
  }

  /** False while the last run through the steps is too recent. */
  private startSteps(): boolean {
    const nowMs = this.parts.now()
    if (nowMs < this.nextStepsMs) return false
    this.nextStepsMs = nowMs + this.parts.options.stepsPauseMs
    this.loadedCount = 0
    return true
  }
}
