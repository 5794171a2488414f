import type { IndexOutcome, Reader } from '../../native/reader.js'
import { LoopTurn } from '../../shared/event-loop/loop-turn.js'
import type { SentSubmission } from '../store/submission-store.js'
import type { Landing } from '../store/submission.js'
import { AwaitedSubmission } from './awaited-submission.js'

/** Longest wait for one look-up in the index. */
const LOOKUP_MS = 5_000
/** Transactions of one look-up, which queues behind pages of clients in the pool of scans. */
const LOOKUP_COUNT_MAX = 256
/** What was found is written for so long in one turn of the event loop. */
const TURN_MS = 1

const NOTHING: readonly IndexOutcome[] = []

/** The index of a network, or why it does not know what landed. */
export type OutcomeIndex = Pick<Reader, 'outcomes'> | 'no-outcomes' | undefined

export type LandingParts = {
  readonly options: {
    readonly landingPollMs: number
    readonly awaitedMax: number
    readonly awaitedMs: number
  }
  /** Undefined before its first block; `no-outcomes` where its feed has no transactions. */
  readonly indexOf: (network: string) => OutcomeIndex
  readonly write: (id: Uint8Array, landing: Landing) => Promise<void>
  /** Monotonic milliseconds. */
  readonly now: () => number
  readonly onFault: (fault: unknown) => void
}

type Entry = { readonly awaited: AwaitedSubmission; readonly endMs: number }

/** Finds in the index what became of submissions, away from their requests. */
export class LandingTracker {
  private readonly parts: LandingParts
  /** By network. */
  private readonly entries = new Map<string, Set<Entry>>()
  private readonly turn: LoopTurn
  private size = 0
  private timer: NodeJS.Timeout | undefined
  private isBusy = false

  constructor(parts: LandingParts) {
    this.parts = parts
    this.turn = new LoopTurn(TURN_MS, parts.now)
  }

  /** Submissions that are looked for. */
  get awaitedCount(): number {
    return this.size
  }

  start(): void {
    this.timer = setInterval(() => void this.look(), this.parts.options.landingPollMs)
    this.timer.unref()
  }

  close(): void {
    clearInterval(this.timer)
  }

  /** False of a submission that is not looked for. */
  watch(sent: SentSubmission): boolean {
    const { indexOf, now, onFault, options } = this.parts
    const { network } = sent.submission
    if (this.size >= options.awaitedMax || indexOf(network) === 'no-outcomes') return false
    try {
      const awaited = new AwaitedSubmission(sent)
      const entries = this.entries.get(network) ?? new Set()
      this.entries.set(network, entries.add({ awaited, endMs: now() + options.awaitedMs }))
      this.size++
      return true
    } catch (error) {
      onFault(error)
      return false
    }
  }

  /** Looks once for every submission. */
  async look(): Promise<void> {
    if (this.isBusy) return
    this.isBusy = true
    try {
      for (const [network, entries] of this.entries) await this.lookIn(network, entries)
    } catch (error) {
      this.parts.onFault(error)
    } finally {
      this.isBusy = false
    }
  }

  private async lookIn(network: string, entries: Set<Entry>): Promise<void> {
    const index = this.parts.indexOf(network)
    for (const chunk of chunksOf([...entries])) {
      if (index !== undefined && index !== 'no-outcomes') await this.lookUp(index, entries, chunk)
      for (const entry of chunk)
        if (entry.endMs <= this.parts.now() && entries.has(entry)) {
          this.remove(entries, entry)
          this.giveUp(entry.awaited)
        }
    }
  }

  private async lookUp(
    index: Pick<Reader, 'outcomes'>,
    entries: Set<Entry>,
    chunk: readonly Entry[],
  ): Promise<void> {
    const answer = await index.outcomes(
      chunk.flatMap(({ awaited }) => awaited.wanted),
      LOOKUP_MS,
    )
    if (answer === undefined) return
    const { transactions } = answer
    let first = 0
    let next = 0
    for (const entry of chunk) {
      if (this.turn.isOver) await this.turn.next()
      const end = first + entry.awaited.wanted.length
      const from = next
      while ((transactions[next]?.index ?? end) < end) next++
      // Of most of them nothing is known.
      const outcomes = from === next ? NOTHING : transactions.slice(from, next)
      const change = entry.awaited.take(outcomes, first, answer)
      if (change === 'ended') this.remove(entries, entry)
      if (change !== 'none') this.write(entry.awaited)
      first = end
    }
  }

  private giveUp(awaited: AwaitedSubmission): void {
    awaited.giveUp()
    this.write(awaited)
  }

  private write(awaited: AwaitedSubmission): void {
    const { onFault, write } = this.parts
    write(awaited.id, awaited.landing).catch(onFault)
  }

  private remove(entries: Set<Entry>, entry: Entry): void {
    if (entries.delete(entry)) this.size--
  }
}

/** Submissions in groups whose transactions are one look-up. */
function* chunksOf(entries: readonly Entry[]): Generator<readonly Entry[]> {
  let chunk: Entry[] = []
  let count = 0
  for (const entry of entries) {
    const wanted = entry.awaited.wanted.length
    if (count + wanted > LOOKUP_COUNT_MAX && chunk.length > 0) {
      yield chunk
      chunk = []
      count = 0
    }
    chunk.push(entry)
    count += wanted
  }
  if (chunk.length > 0) yield chunk
}
