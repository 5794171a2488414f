import { BootstrapCancelled } from '../bootstrap/bootstrap.js'
import {
  startGeyser,
  type GeyserIndexer,
  type Options as FeedOptions,
  type Target,
} from '../feed/geyser.js'
import { Ladder, type Rung } from './repair-policy.js'
import type { Options, RepairStepName } from './options.js'
import type { CommittedBlock, FeedHealth, FeedListeners, FeedSource } from '../feed/source.js'

/** What is being tried, and why. */
export type RepairState = {
  /** `replay`, `source`, or a step's name. */
  readonly step: 'replay' | 'source' | RepairStepName
  readonly reason: string
  /** Unix milliseconds. */
  readonly sinceMs: number
}

/** What a step does to the store: resolves once the network's live store has a newer tip. */
export type RunStep = (step: RepairStepName, signal: AbortSignal) => Promise<void>

/** What mending needs beside the sources. */
export type RepairParts = {
  /** In order of preference, at least one. */
  readonly sources: readonly [Target, ...Target[]]
  readonly feed: FeedOptions
  readonly repair: Options
  /** The live store's writer; another one after a step. */
  readonly indexer: () => GeyserIndexer
  /** Steps that are configured, and who runs them. */
  readonly steps: readonly RepairStepName[]
  readonly run: RunStep
  /**
   * Whether no step may be taken, because somebody cancelled the last one and the store has got no
   * block since.
   */
  readonly isHeld: () => boolean
  readonly on: Omit<FeedListeners, 'interrupted'> & {
    /** A step began, or all is well again. */
    repair(state: RepairState | undefined): void
    /** Another source is in use. */
    source(index: number): void
  }
  readonly now: () => number
}

/** A feed that mends itself as far as it is configured to. */
export type RepairedFeed = FeedSource & {
  /** Which of the sources is in use. */
  sourceIndex(): number
  /** The live store is another one by now: goes on into that. */
  restart(): void
  /** Reads no further for now; what is under way becomes durable first. */
  hold(): void
  /** Reads on where `hold` ended it. */
  release(): void
  /** What is being tried now; undefined while all is well. */
  repair(): RepairState | undefined
}

/** A rung in words for the log. */
const describe = (rung: Rung, sourceCount: number): string => {
  switch (rung.kind) {
    case 'wait':
      return 'trying again by itself'
    case 'source':
      return `turning to source ${rung.index + 1} of ${sourceCount}`
    case 'step':
      return `beginning ${rung.step}`
    case 'pause':
      return `every source was tried; the next one in ${rung.ms} ms`
  }
}

/**
 * Reads the first source, and climbs the ladder when it brings no blocks: the next source, then the
 * configured steps. No step is taken while the feed is healthy, and each is said with its reason.
 */
export const startRepairedFeed = (parts: RepairParts): RepairedFeed => {
  const { sources, feed: options, repair, on, steps, now, isHeld } = parts
  const ladder = new Ladder({ sourceCount: sources.length, steps, options: repair, now, isHeld })
  const stopping = new AbortController()
  let feed: FeedSource | undefined
  let health: FeedHealth = { isHealthy: false, reason: 'the feed has not brought a block yet' }
  let state: RepairState | undefined
  let timer: NodeJS.Timeout | undefined
  let isHeldHere = false
  // Events of a reader that was stopped may still be on their way.
  let turn = 0

  const setState = (next: RepairState | undefined): void => {
    state = next
    on.repair(next)
  }
  const enter = (step: RepairState['step'], reason: string): void =>
    setState({ step, reason, sinceMs: now() })

  const endPause = (): void => {
    clearTimeout(timer)
    timer = undefined
  }

  const stopFeed = (): void => {
    endPause()
    turn += 1
    feed?.stop()
    feed = undefined
  }

  const startFeed = (): void => {
    const mine = turn
    const isCurrent = (): boolean => mine === turn && !stopping.signal.aborted
    const target = sources[ladder.sourceIndex] ?? sources[0]
    on.source(ladder.sourceIndex)
    feed = startGeyser(
      parts.indexer(),
      { ...options, ...target },
      {
        committed: block => {
          if (isCurrent()) hearCommitted(block)
        },
        interrupted: reason => {
          if (isCurrent()) hearInterrupted(reason)
        },
        log: line => isCurrent() && on.log(line),
        health: next => {
          if (isCurrent()) hearHealth(next)
        },
      },
    )
  }

  const hearCommitted = (block: CommittedBlock): void => {
    on.committed(block)
    // Of a reader that was never unhealthy this is all that tells of its end.
    if (health.isHealthy && state?.step === 'replay') setState(undefined)
  }

  /** The first rung, which the reader takes by itself. */
  const hearInterrupted = (reason: string): void => {
    if (state !== undefined) return
    on.log({ level: 'warn', text: `repair: replaying after the tip, because ${reason}` })
    enter('replay', reason)
  }

  const hearHealth = (next: FeedHealth): void => {
    health = next
    on.health(next)
    if (next.isHealthy) {
      endPause()
      ladder.onHealthy()
      if (state !== undefined) setState(undefined)
      return
    }
    climb(ladder.onUnhealthy(next.cause ?? ''), next.reason)
  }

  const climb = (rung: Rung, reason: string): void => {
    // Another reason within the pause must not begin it anew.
    if (rung.kind === 'pause' && timer !== undefined) return enter('replay', reason)
    on.log({ level: 'warn', text: `repair: ${describe(rung, sources.length)}, because ${reason}` })
    endPause()
    switch (rung.kind) {
      case 'wait':
        return enter('replay', reason)
      case 'pause':
        enter('replay', reason)
        timer = setTimeout(() => {
          timer = undefined
          climb(ladder.onPauseEnd(), reason)
        }, rung.ms)
        return
      case 'source':
        enter('source', reason)
        stopFeed()
        return startFeed()
      case 'step':
        enter(rung.step, reason)
        stopFeed()
        return void runStep(rung.step, reason)
    }
  }

  const runStep = async (step: RepairStepName, reason: string): Promise<void> => {
    const mine = turn
    const isCurrent = (): boolean => mine === turn && !stopping.signal.aborted
    try {
      await parts.run(step, stopping.signal)
      on.log({ level: 'info', text: `repair: ${step} is done` })
      // Not healthy yet: the first block that continues the new tip says so. Whoever replaced the
      // store may have begun with it already.
      if (isCurrent()) startFeed()
    } catch (error) {
      if (!isCurrent()) return
      const why = error instanceof Error ? error.message : String(error)
      const isCancelled = error instanceof BootstrapCancelled
      const ended = isCancelled ? 'was cancelled' : 'failed'
      on.log({ level: isCancelled ? 'warn' : 'error', text: `repair: ${step} ${ended}: ${why}` })
      const rung = ladder.onStepFailed()
      // The old feed goes on while nothing better is known.
      if (rung.kind === 'pause') startFeed()
      climb(rung, `${step} ${ended} (${why}), after: ${reason}`)
    }
  }

  startFeed()
  return {
    health: () => health,
    sourceIndex: () => ladder.sourceIndex,
    repair: () => state,
    restart() {
      if (stopping.signal.aborted) return
      isHeldHere = false
      stopFeed()
      startFeed()
    },
    hold() {
      // While a step runs nothing is read, and whoever runs it goes on by itself.
      if (feed === undefined) return
      isHeldHere = true
      stopFeed()
    },
    release() {
      if (!isHeldHere || stopping.signal.aborted) return
      isHeldHere = false
      startFeed()
    },
    stop() {
      stopping.abort()
      stopFeed()
    },
  }
}
