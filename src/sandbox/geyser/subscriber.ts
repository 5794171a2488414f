import { createFilter, type ToMessage } from './filter.js'
import type { FeedLog } from './feed-log.js'
import { encodePing, encodePong } from './messages.js'
import { decodeSubscribeRequest, FilterError, type SubscribeRequest } from './request.js'
import { encodeFrameHeader, GRPC_STATUS, GrpcError, type GrpcStatus } from './grpc-message.js'
import type { GrpcStream } from './grpc-server.js'
import { ProtobufError } from './protobuf.js'

/** Bounds of one stream. */
export const defaults = {
  /** A stream that is further behind the log than this is ended. */
  lagBytesMax: 64 * 1024 * 1024,
  /** Updates processed per event loop turn, so that a long replay does not block the chain. */
  updatesPerTurnMax: 2_048,
  /** Messages are written in batches of this size, to save DATA frames. */
  batchBytes: 64 * 1024,
  /** Interval of pings, as of public servers. */
  pingMs: 10_000,
}
export type SubscriberOptions = typeof defaults & {
  /** Throws FilterError or GrpcError for a request that is refused. */
  readonly check: (request: SubscribeRequest) => void
}

type Cursor = {
  readonly toMessage: ToMessage
  readonly level: SubscribeRequest['commitment']
  position: number
  entryIndex: number
  /** Bytes of the level when the subscription began: a replay is not lag. */
  readonly byteCountAtStart: number
  /** Segments before this position are replay. */
  readonly livePosition: number
}

/**
 * One Subscribe stream. It reads the log at the speed of its client, without a queue of its own,
 * and is ended when it is too far behind.
 */
export class GeyserSubscriber {
  private readonly stream: GrpcStream
  private readonly log: FeedLog
  private readonly options: SubscriberOptions
  private readonly now: () => number
  private readonly pings: NodeJS.Timeout
  private readonly batch: Buffer[] = []
  private batchByteCount = 0
  private cursor: Cursor | undefined
  private isBlocked = false
  private isScheduled = false
  private isStalled = false
  private isEnded = false

  constructor(stream: GrpcStream, log: FeedLog, options: SubscriberOptions, now: () => number) {
    this.stream = stream
    this.log = log
    this.options = options
    this.now = now
    this.pings = setInterval(() => this.sendDirect(encodePing(now())), options.pingMs).unref()
  }

  drained(): void {
    this.isBlocked = false
    this.sendPending()
  }

  /** Sends what the log has beyond the cursor. */
  sendPending(): void {
    const { cursor } = this
    if (cursor === undefined || this.isScheduled) return
    for (let count = 0; count < this.options.updatesPerTurnMax; count++) {
      if (this.isEnded || this.isBlocked || this.isStalled) return
      if (this.step(cursor) === 'waiting') return this.flush()
    }
    this.flush()
    this.isScheduled = true
    setImmediate(() => {
      this.isScheduled = false
      this.sendPending()
    })
  }

  /** Ends the stream where it is too far behind. Called when a slot starts. */
  checkLag(): void {
    const { cursor } = this
    if (cursor === undefined || this.isEnded) return
    const level = this.log.levels[cursor.level]
    const segment = level.segments[cursor.position - level.firstPosition]
    const read = Math.max(segment?.bytesBefore ?? level.byteCount, cursor.byteCountAtStart)
    const isGone = cursor.position < level.firstPosition
    if (isGone || level.byteCount - read > this.options.lagBytesMax) this.fail(LAGGED)
  }

  /** Fault: sends nothing, not even pings. */
  setStalled(isStalled: boolean): void {
    this.isStalled = isStalled
    this.sendPending()
  }

  fail(end: GrpcStatus): void {
    if (this.isEnded) return
    this.stop()
    this.stream.end(end)
  }

  /** Stops sending. */
  stop(): void {
    this.isEnded = true
    clearInterval(this.pings)
  }

  /** Handles a request of the client. */
  receive(bytes: Buffer): void {
    if (this.isEnded) return
    try {
      const request = decodeSubscribeRequest(bytes)
      if (request.pingId !== undefined) this.sendDirect(encodePong(request.pingId, this.now()))
      else this.subscribe(request)
    } catch (error) {
      if (error instanceof GrpcError) return this.fail({ code: error.code, details: error.message })
      if (!(error instanceof FilterError || error instanceof ProtobufError)) throw error
      this.fail({ code: GRPC_STATUS.invalidArgument, details: error.message })
    }
  }

  private step(cursor: Cursor): 'more' | 'waiting' {
    const level = this.log.levels[cursor.level]
    const index = cursor.position - level.firstPosition
    if (index < 0) {
      this.fail(LAGGED)
      return 'waiting'
    }
    const segment = level.segments[index]
    const isHidden =
      segment?.hidden === 'always' ||
      (segment?.hidden === 'live' && cursor.position >= cursor.livePosition)
    const entry = isHidden ? undefined : segment?.entries[cursor.entryIndex]
    if (entry === undefined) {
      if (index >= level.segments.length - 1) return 'waiting'
      cursor.position++
      cursor.entryIndex = 0
      return 'more'
    }
    cursor.entryIndex++
    this.add(cursor.toMessage(entry))
    return 'more'
  }

  private add(parts: readonly Buffer[]): void {
    if (parts.length === 0) return
    let byteCount = 0
    for (const part of parts) byteCount += part.length
    this.batch.push(encodeFrameHeader(byteCount), ...parts)
    this.batchByteCount += byteCount
    if (this.batchByteCount >= this.options.batchBytes) this.flush()
  }

  private flush(): void {
    if (this.batch.length === 0 || this.isEnded) return
    if (!this.stream.write(Buffer.concat(this.batch))) this.isBlocked = true
    this.batch.length = 0
    this.batchByteCount = 0
  }

  /** Sends a message that is not in the log. */
  private sendDirect(message: Buffer): void {
    if (this.isStalled) return
    this.add([message])
    this.flush()
  }

  /** Replaces all filters. Without a slot to replay from, the cursor is not changed. */
  private subscribe(request: SubscribeRequest): void {
    this.options.check(request)
    const { commitment: level, fromSlot } = request
    const toMessage = createFilter(request)
    const head = this.log.headOf(level)
    const start = {
      toMessage,
      level,
      byteCountAtStart: head.byteCount,
      livePosition: head.position,
    }
    if (fromSlot !== undefined) {
      const replay = this.log.replayFrom(level, fromSlot)
      if ('oldestSlot' in replay) {
        const { oldestSlot } = replay
        return this.fail({
          code: GRPC_STATUS.outOfRange,
          details: `broadcast from ${fromSlot} is not available, last available: ${oldestSlot}`,
        })
      }
      this.cursor = { ...start, position: replay.position, entryIndex: 0 }
    } else if (this.cursor?.level === level) {
      this.cursor = { ...this.cursor, toMessage }
    } else {
      this.cursor = { ...start, position: head.position, entryIndex: head.entryIndex }
    }
    this.sendPending()
  }
}

const LAGGED: GrpcStatus = { code: GRPC_STATUS.internal, details: 'lagged to send an update' }
