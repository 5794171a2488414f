import type { Options } from '../options.js'
import { ChunkPool } from './chunk-pool.js'

/** The server options that `ReplyScheduler` uses. */
export type ReplySchedulerOptions = Pick<
  Options,
  'chunkBytes' | 'turnBytesMax' | 'chunksPooledMax' | 'replyStallMs'
>

/** A large reply as the scheduler sees it. */
export type ScheduledReply = {
  /**
   * When its client took bytes last, or could begin to; undefined while its source is awaited,
   * which has a time-out of its own.
   */
  readonly stalledSinceMs: number | undefined
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
  private readonly replies = new Set<ScheduledReply>()
  private ready: ScheduledReply[] = []
  private isTurnScheduled = false
  /** Replies whose clients stopped reading. */
  abandonedCount = 0
  private readonly timer: NodeJS.Timeout

  constructor(options: ReplySchedulerOptions, now: () => number) {
    this.options = options
    this.now = now
    this.pool = new ChunkPool(options.chunkBytes, options.chunksPooledMax)
    // One timer for all replies: a stall is found at most a tenth of `replyStallMs` late.
    this.timer = setInterval(() => this.abandonStalled(), Math.max(10, options.replyStallMs / 10))
    this.timer.unref()
  }

  get replyCount(): number {
    return this.replies.size
  }

  add(reply: ScheduledReply): void {
    this.replies.add(reply)
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

  private abandonStalled(): void {
    const limitMs = this.now() - this.options.replyStallMs
    for (const reply of this.replies) {
      if ((reply.stalledSinceMs ?? Infinity) > limitMs) continue
      this.abandonedCount++
      reply.abandon()
    }
  }
}
