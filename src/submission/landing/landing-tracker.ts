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
export type OutcomeIndex = LookUps | 'no-outcomes' | undefined

type LookUps = Pick<Reader, 'outcomes' | 'tip'>

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
  /** Unix milliseconds. */
  readonly unixMs: () => number
  readonly onFault: (fault: unknown) => void
}

type Entry = {
  readonly awaited: AwaitedSubmission
  readonly network: string
  readonly endMs: number
  /** Of the newest block when it was last looked for. */
  seenBlockhash: string | undefined
}

/** Follows submissions through the index, away from their requests. */
export class LandingTracker {
  private readonly parts: LandingParts
  /** By network. */
  private readonly entries = new Map<string, Set<Entry>>()
  /** By access, the oldest first. */
  private readonly ofAccess = new Map<string, Set<Entry>>()
  private readonly turn: LoopTurn
  private size = 0
  private timer: NodeJS.Timeout | undefined
  private isBusy = false
  /** Networks with a block that came while it was busy. */
  private readonly missed = new Set<string>()

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

  /**
   * False of a submission that is not looked for. Where they are too many, the access with the most
   * of them gives up its oldest one, so no access takes the place of others.
   */
  watch(sent: SentSubmission): boolean {
    const { indexOf, now, onFault, options } = this.parts
    const { accessId, network } = sent.submission
    if (indexOf(network) === 'no-outcomes') return false
    try {
      const awaited = new AwaitedSubmission(sent)
      if (this.size >= options.awaitedMax && !this.makeRoom(accessId)) return false
      const endMs = now() + options.awaitedMs
      this.add({ awaited, network, endMs, seenBlockhash: undefined })
      return true
    } catch (error) {
      onFault(error)
      return false
    }
  }

  /** Looks once for every submission, or for those of a network that has a new block. */
  async look(network?: string): Promise<void> {
    if (this.isBusy) {
      if (network !== undefined) this.missed.add(network)
      return
    }
    this.isBusy = true
    try {
      let wanted = network === undefined ? [...this.entries.keys()] : [network]
      while (wanted.length > 0) {
        for (const one of wanted) await this.lookIn(this.entries.get(one))
        wanted = [...this.missed]
        this.missed.clear()
      }
    } catch (error) {
      this.parts.onFault(error)
    } finally {
      this.isBusy = false
    }
  }

  /** Looks for those that were not looked for since the newest block. */
  private async lookIn(entries: ReadonlySet<Entry> = new Set()): Promise<void> {
    const [first] = entries
    if (first === undefined) return
    const indexOf = (): LookUps | undefined => {
      const index = this.parts.indexOf(first.network)
      return index === 'no-outcomes' ? undefined : index
    }
    // What is known of a transaction changes with a block alone.
    const blockhash = indexOf()?.tip()?.blockhash
    const stale = [...entries].filter(
      ({ seenBlockhash }) => seenBlockhash === undefined || seenBlockhash !== blockhash,
    )
    for (const chunk of chunksOf(stale)) {
      const index = indexOf()
      if (index !== undefined) await this.lookUp(index, chunk, blockhash)
    }
    const nowMs = this.parts.now()
    for (const entry of entries) if (entry.endMs <= nowMs) this.giveUp(entry)
  }

  private async lookUp(
    index: LookUps,
    chunk: readonly Entry[],
    blockhash: string | undefined,
  ): Promise<void> {
    // The objects change when a submission is given up meanwhile.
    const wanted = chunk.map(({ awaited }) => awaited.wanted)
    const answer = await index.outcomes(wanted.flat(), LOOKUP_MS)
    if (answer === undefined) return
    const { transactions } = answer
    const view = { ...answer, atMs: this.parts.unixMs() }
    let first = 0
    let next = 0
    for (const [at, entry] of chunk.entries()) {
      if (this.turn.isOver) await this.turn.next()
      const end = first + (wanted[at]?.length ?? 0)
      const from = next
      while ((transactions[next]?.index ?? end) < end) next++
      // Of most of them nothing is known.
      const outcomes = from === next ? NOTHING : transactions.slice(from, next)
      const start = first
      first = end
      if (!this.isWatched(entry)) continue
      entry.seenBlockhash = blockhash
      const change = entry.awaited.take(outcomes, start, view)
      if (change === 'ended') this.remove(entry)
      if (change !== 'none') this.write(entry.awaited)
    }
  }

  private isWatched(entry: Entry): boolean {
    return this.entries.get(entry.network)?.has(entry) ?? false
  }

  /** Has the access with the most submissions give up one; false where it is this one's turn. */
  private makeRoom(accessId: string): boolean {
    let most: ReadonlySet<Entry> | undefined
    for (const entries of this.ofAccess.values())
      if (entries.size > (most?.size ?? 0)) most = entries
    const own = this.ofAccess.get(accessId)
    const from = own !== undefined && own.size === most?.size ? own : most
    const [oldest] = from ?? []
    if (oldest === undefined) return false
    this.giveUp(oldest)
    return true
  }

  private giveUp(entry: Entry): void {
    if (!this.isWatched(entry)) return
    this.remove(entry)
    entry.awaited.giveUp(this.parts.unixMs())
    this.write(entry.awaited)
  }

  private write(awaited: AwaitedSubmission): void {
    const { onFault, write } = this.parts
    write(awaited.id, awaited.landing).catch(onFault)
  }

  private add(entry: Entry): void {
    addTo(this.entries, entry.network, entry)
    addTo(this.ofAccess, entry.awaited.accessId, entry)
    this.size++
  }

  private remove(entry: Entry): void {
    this.entries.get(entry.network)?.delete(entry)
    const { accessId } = entry.awaited
    const others = this.ofAccess.get(accessId)
    others?.delete(entry)
    if (others?.size === 0) this.ofAccess.delete(accessId)
    this.size--
  }
}

const addTo = <K, V>(sets: Map<K, Set<V>>, key: K, value: V): void => {
  const known = sets.get(key)
  if (known === undefined) sets.set(key, new Set([value]))
  else known.add(value)
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
