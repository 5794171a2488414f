import type { Options } from '../options.js'
import { ChunkPool } from './chunk-pool.js'

/** The server options that `ReplyScheduler` uses. */
export type ReplySchedulerOptions = Pick<
  Options,
  'chunkBytes' | 'turnBytesMax' | 'chunksPooledMax' | 'replyStallMs' | 'replyMs'
>

/** Bytes that a client must take per `replyStallMs` while others find no room for their replies. */
const BYTES_MIN = 64 * 1024

/** What a reply has sent, and how often others found no room, at the begin of an interval. */
type Interval = {
  readonly sinceMs: number
  readonly sentBytes: number
  readonly refusedCount: number
}

/** A large reply as the scheduler sees it. */
export type ScheduledReply = {
  /**
   * When its client took bytes last, or could begin to; undefined while its source is awaited,
   * which has a time-out of its own.
   */
  readonly stalledSinceMs: number | undefined
  /** Bytes of its body that were sent. */
  readonly sentBytes: number
  /** As `BodySource` has it. */
  readonly refusedCount: number
  /** Reads and writes one chunk. */
  writeChunk(): void
  /** Ends the reply because its client does not read. */
  abandon(): void
}

/**
 * Writes the large replies of one server round-robin, a bounded number of bytes per turn of the
 * event loop.
 */
export class ReplyScheduler {
  readonly pool: ChunkPool
  readonly now: () => number
  private readonly options: ReplySchedulerOptions
  /** When each reply began, and its interval. */
  private readonly replies = new Map<ScheduledReply, { begunMs: number; interval: Interval }>()
  private ready: ScheduledReply[] = []
  private isTurnScheduled = false
  /** Replies whose clients stopped reading, or read too slowly. */
  abandonedCount = 0
  private readonly timer: NodeJS.Timeout

  constructor(options: ReplySchedulerOptions, now: () => number) {
    this.options = options
    this.now = now
    this.pool = new ChunkPool(options.chunkBytes, options.chunksPooledMax)
    // One timer for all replies: a stall is found at most a tenth of `replyStallMs` late.
    this.timer = setInterval(() => this.abandonSlow(), Math.max(10, options.replyStallMs / 10))
    this.timer.unref()
  }

  get replyCount(): number {
    return this.replies.size
  }

  add(reply: ScheduledReply): void {
    const begunMs = this.now()
    this.replies.set(reply, { begunMs, interval: toInterval(reply, begunMs) })
  }

  remove(reply: ScheduledReply): void {
    this.replies.delete(reply)
  }

  /** Schedules the next chunk of a reply whose client can take it. */
  enqueue(reply: ScheduledReply): void {
    this.ready.push(reply)
    this.scheduleTurn()
  }

  close(): void {
    clearInterval(this.timer)
  }

  private scheduleTurn(): void {
    if (this.isTurnScheduled) return
    this.isTurnScheduled = true
    setImmediate(this.runTurn)
  }

  private readonly runTurn = (): void => {
    this.isTurnScheduled = false
    const queue = this.ready
    this.ready = []
    let bytesLeft = this.options.turnBytesMax
    let index = 0
    for (; index < queue.length && bytesLeft > 0; index++) {
      queue[index]?.writeChunk()
      bytesLeft -= this.options.chunkBytes
    }
    if (index === queue.length) return
    // Replies without a chunk in this turn precede those that had one.
    this.ready = [...queue.slice(index), ...this.ready]
    this.scheduleTurn()
  }

  private abandonSlow(): void {
    const nowMs = this.now()
    for (const [reply, state] of this.replies) {
      if (this.isSlow(reply, state, nowMs)) {
        this.abandonedCount++
        reply.abandon()
      } else if (nowMs - state.interval.sinceMs >= this.options.replyStallMs) {
        state.interval = toInterval(reply, nowMs)
      }
    }
  }

  private isSlow(
    reply: ScheduledReply,
    { begunMs, interval }: { readonly begunMs: number; readonly interval: Interval },
    nowMs: number,
  ): boolean {
    const { replyMs, replyStallMs } = this.options
    if (nowMs - begunMs > replyMs) return true
    const { stalledSinceMs } = reply
    if (stalledSinceMs === undefined) return false
    if (nowMs - stalledSinceMs >= replyStallMs) return true
    return (
      nowMs - interval.sinceMs >= replyStallMs &&
      reply.sentBytes - interval.sentBytes < BYTES_MIN &&
      reply.refusedCount > interval.refusedCount
    )
  }
}

const toInterval = ({ sentBytes, refusedCount }: ScheduledReply, sinceMs: number): Interval => ({
  sinceMs,
  sentBytes,
  refusedCount,
})
