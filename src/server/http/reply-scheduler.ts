import type { BodySource } from '../../shared/http.js'
import type { Options } from '../options.js'
import { PiecePool } from './chunk-pool.js'
import type { ReplyStream } from './reply-stream.js'

/** What `Pump` needs to know of the server's options. */
export type PumpOptions = Pick<
  Options,
  'pieceBytes' | 'turnBytesMax' | 'piecesKeptMax' | 'replyStallMs'
>

/**
 * Writes all large replies of one server, a few pieces per turn of the event loop, each reply in
 * its turn.
 */
export class Pump {
  readonly pool: PiecePool
  readonly now: () => number
  private readonly options: PumpOptions
  private readonly streams = new Set<ReplyStream>()
  private ready: ReplyStream[] = []
  private isScheduled = false
  private readonly sweeper: NodeJS.Timeout

  constructor(options: PumpOptions, now: () => number) {
    this.options = options
    this.now = now
    this.pool = new PiecePool(options.pieceBytes, options.piecesKeptMax)
    // A stall is found at most a tenth late. A timer of its own per reply would cost each of them
    // two calls.
    this.sweeper = setInterval(() => this.sweep(), Math.max(10, options.replyStallMs / 10))
    this.sweeper.unref()
  }

  get streamCount(): number {
    return this.streams.size
  }

  add(stream: ReplyStream): void {
    this.streams.add(stream)
  }

  remove(stream: ReplyStream): void {
    this.streams.delete(stream)
  }

  /** Asks for a turn of `stream`: it has a piece to write, and its client takes it. */
  enqueue(stream: ReplyStream): void {
    this.ready.push(stream)
    if (this.isScheduled) return
    this.isScheduled = true
    setImmediate(this.turn)
  }

  close(): void {
    clearInterval(this.sweeper)
  }

  private readonly turn = (): void => {
    this.isScheduled = false
    const queue = this.ready
    this.ready = []
    let bytesLeft = this.options.turnBytesMax
    let index = 0
    for (; index < queue.length && bytesLeft > 0; index++) {
      queue[index]?.step()
      bytesLeft -= this.options.pieceBytes
    }
    if (index === queue.length) return
    // Whoever had no turn goes before those that had one.
    this.ready = [...queue.slice(index), ...this.ready]
    if (this.isScheduled) return
    this.isScheduled = true
    setImmediate(this.turn)
  }

  private sweep(): void {
    const limitMs = this.now() - this.options.replyStallMs
    for (const stream of this.streams) if (stream.progressAtMs <= limitMs) stream.giveUp()
  }
}

/** True for a body that is read in pieces. */
export const isSource = (body: unknown): body is BodySource =>
  typeof body === 'object' && body !== null && 'read' in body && 'close' in body
