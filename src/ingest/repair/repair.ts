import { BootstrapCancelled } from '../bootstrap/bootstrap.js'
import { SnapshotUnavailable } from '../bootstrap/snapshot-location.js'
import {
  startGeyser,
  type GeyserIndexer,
  type Options as FeedOptions,
  type Target,
} from '../feed/geyser.js'
import type { CommittedBlock, FeedHealth, FeedListeners, FeedSource } from '../feed/source.js'
import type { Options, RepairStepName } from './options.js'
import { RepairPolicy, type RepairAction } from './repair-policy.js'

/** The repair in progress, and why. */
export type RepairState = {
  /** `replay`, `source`, or a step's name. */
  readonly step: 'replay' | 'source' | RepairStepName
  readonly reason: string
  /** Unix milliseconds. */
  readonly sinceMs: number
}

/** Runs a step: resolves once the network's live store has a newer tip. */
export type RunStep = (step: RepairStepName, signal: AbortSignal) => Promise<void>

export type RepairParts = {
  /** In order of preference, at least one. */
  readonly sources: readonly [Target, ...Target[]]
  readonly feed: FeedOptions
  readonly repair: Options
  /** The live store's writer; another one after a step. */
  readonly indexer: () => GeyserIndexer
  /** The configured steps. */
  readonly steps: readonly RepairStepName[]
  readonly run: RunStep
  /** Whether an operator cancelled the last step and the store has had no block since. */
  readonly isAutoRepairSuspended: () => boolean
  readonly on: Omit<FeedListeners, 'interrupted'> & {
    /** A repair has begun, or the feed is healthy again. */
    repair(state: RepairState | undefined): void
    /** Another source is in use. */
    source(index: number): void
  }
  readonly now: () => number
}

/** An action in words for the log. */
const describe = (action: RepairAction, sourceCount: number): string => {
  switch (action.kind) {
    case 'wait':
      return 'the reader retries by itself'
    case 'source':
      return `switching to source ${action.index + 1} of ${sourceCount}`
    case 'step':
      return `starting ${action.step}`
    case 'pause':
      return `every source failed; trying the next one in ${action.ms} ms`
  }
}

/**
 * A feed that repairs itself: reads the first source and, when it delivers no blocks, takes the
 * actions of the policy. No step is taken while the feed is healthy, and each is logged with its
 * reason.
 */
export class RepairedFeed implements FeedSource {
  private readonly parts: RepairParts
  private readonly policy: RepairPolicy
  private readonly stopping = new AbortController()
  private feed: FeedSource | undefined
  private currentHealth: FeedHealth = {
    isHealthy: false,
    reason: 'the feed has not brought a block yet',
  }
  private state: RepairState | undefined
  private timer: NodeJS.Timeout | undefined
  private isPaused = false
  /** Number of the reader. Events of one that was stopped may still arrive, and are ignored. */
  private reader = 0

  constructor(parts: RepairParts) {
    const { sources, steps, repair: options, now, isAutoRepairSuspended } = parts
    this.parts = parts
    this.policy = new RepairPolicy({
      sourceCount: sources.length,
      steps,
      options,
      now,
      isAutoRepairSuspended,
    })
    this.startFeed()
  }

  health(): FeedHealth {
    return this.currentHealth
  }

  /** Index of the source in use. */
  sourceIndex(): number {
    return this.policy.sourceIndex
  }

  /** The repair in progress; undefined while the feed is healthy. */
  repair(): RepairState | undefined {
    return this.state
  }

  /** The live store was replaced: continues into the new one. */
  restart(): void {
    if (this.stopping.signal.aborted) return
    this.isPaused = false
    this.stopFeed()
    this.startFeed()
  }

  /** Stops reading; the commit in progress becomes durable first. */
  pause(): void {
    // While a step runs there is no reader, and the end of the step starts one.
    if (this.feed === undefined) return
    this.isPaused = true
    this.stopFeed()
  }

  /** Resumes reading after `pause`. */
  resume(): void {
    if (!this.isPaused || this.stopping.signal.aborted) return
    this.isPaused = false
    this.startFeed()
  }

  stop(): void {
    this.stopping.abort()
    this.stopFeed()
  }

  private startFeed(): void {
    const { feed: options, indexer, on, sources } = this.parts
    const reader = this.reader
    const ifCurrent =
      <T>(handle: (value: T) => void) =>
      (value: T): void => {
        if (this.isCurrent(reader)) handle(value)
      }
    on.source(this.policy.sourceIndex)
    const target = sources[this.policy.sourceIndex] ?? sources[0]
    this.feed = startGeyser(
      indexer(),
      { ...options, ...target },
      {
        committed: ifCurrent(block => this.onCommitted(block)),
        interrupted: ifCurrent(reason => this.onInterrupted(reason)),
        footers: ifCurrent(areRequested => on.footers(areRequested)),
        health: ifCurrent(health => this.onHealth(health)),
        log: ifCurrent(line => on.log(line)),
      },
    )
  }

  private stopFeed(): void {
    this.endPause()
    this.reader += 1
    this.feed?.stop()
    this.feed = undefined
  }

  private isCurrent(reader: number): boolean {
    return reader === this.reader && !this.stopping.signal.aborted
  }

  private onCommitted(block: CommittedBlock): void {
    this.parts.on.committed(block)
    // A replay ends with its first block, where the reader never became unhealthy.
    if (this.currentHealth.isHealthy && this.state?.step === 'replay') this.setState(undefined)
  }

  /** The reader reconnects and asks for a replay by itself. */
  private onInterrupted(reason: string): void {
    if (this.state !== undefined) return
    this.warn(`replaying after the tip, because ${reason}`)
    this.enter('replay', reason)
  }

  private onHealth(health: FeedHealth): void {
    this.currentHealth = health
    this.parts.on.health(health)
    if (!health.isHealthy)
      return this.take(this.policy.onUnhealthy(health.cause ?? ''), health.reason)
    this.endPause()
    this.policy.onHealthy()
    if (this.state !== undefined) this.setState(undefined)
  }

  private take(action: RepairAction, reason: string): void {
    // Another failure during the pause must not restart it.
    if (action.kind === 'pause' && this.timer !== undefined) return this.enter('replay', reason)
    this.warn(`${describe(action, this.parts.sources.length)}, because ${reason}`)
    this.endPause()
    switch (action.kind) {
      case 'wait':
        return this.enter('replay', reason)
      case 'pause':
        this.enter('replay', reason)
        this.timer = setTimeout(() => {
          this.timer = undefined
          this.take(this.policy.onPauseEnd(), reason)
        }, action.ms)
        return
      case 'source':
        this.enter('source', reason)
        this.stopFeed()
        return this.startFeed()
      case 'step':
        this.enter(action.step, reason)
        this.stopFeed()
        return void this.runStep(action.step, reason)
    }
  }

  private async runStep(step: RepairStepName, reason: string): Promise<void> {
    const { on, run } = this.parts
    const reader = this.reader
    try {
      await run(step, this.stopping.signal)
      on.log({ level: 'info', text: `repair: ${step} is done` })
      // Healthy only with the first block after the new tip. The replacement of the store may have
      // started the feed already.
      if (this.isCurrent(reader)) this.startFeed()
    } catch (error) {
      if (this.isCurrent(reader)) this.onStepFailed(step, reason, error)
    }
  }

  private onStepFailed(step: RepairStepName, reason: string, error: unknown): void {
    const why = error instanceof Error ? error.message : String(error)
    const isCancelled = error instanceof BootstrapCancelled
    const outcome = isCancelled ? 'was cancelled' : 'failed'
    const level = isCancelled ? 'warn' : 'error'
    this.parts.on.log({ level, text: `repair: ${step} ${outcome}: ${why}` })
    const action = this.policy.onStepFailed(error instanceof SnapshotUnavailable)
    // The old feed continues during the pause.
    if (action.kind === 'pause') this.startFeed()
    this.take(action, `${step} ${outcome} (${why}), after: ${reason}`)
  }

  private endPause(): void {
    clearTimeout(this.timer)
    this.timer = undefined
  }

  private enter(step: RepairState['step'], reason: string): void {
    this.setState({ step, reason, sinceMs: this.parts.now() })
  }

  private setState(state: RepairState | undefined): void {
    this.state = state
    this.parts.on.repair(state)
  }

  private warn(text: string): void {
    this.parts.on.log({ level: 'warn', text: `repair: ${text}` })
  }
}
