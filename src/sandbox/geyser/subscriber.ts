import { createFilter, type ToMessage } from './filter.js'
import type { GeyserLog } from './feed-log.js'
import { encodePing, encodePong } from './messages.js'
import { decodeSubscribeRequest, FilterError, type SubscribeRequest } from './request.js'
import { encodeFrameHeader, GRPC_STATUS, type GrpcStatus, type GrpcStream } from './grpc-server.js'
import { ProtobufError } from './protobuf.js'

/** Bounds of one stream. */
export const defaults = {
  /**
   * Said but not read: a stream that is further behind than this is ended. What it holds is in the
   * log, not in a queue of its own.
   */
  lagBytesMax: 64 * 1024 * 1024,
  /** Updates looked at in one turn, so that a long replay does not stop the chain. */
  updatesPerTurnMax: 2_048,
  /**
   * Messages are written together up to this size: one large DATA frame costs what a small one
   * does.
   */
  batchBytes: 64 * 1024,
  /** Idle streams hear a ping this often, as from public servers. */
  pingMs: 10_000,
}
export type SubscriberOptions = typeof defaults & {
  /** Throws FilterError where a request asks for too much. */
  readonly check: (request: SubscribeRequest) => void
}

type Reading = {
  readonly toMessage: ToMessage
  readonly level: SubscribeRequest['commitment']
  position: number
  entryIndex: number
  /** Bytes of the level that were there when reading began: a replay is not lag. */
  readonly byteCountAtStart: number
  /** Segments before this are replay. */
  readonly livePosition: number
}

/**
 * One Subscribe stream. It reads the log at the speed of its client: a slow one costs no memory,
 * and is ended when it is too far behind.
 */
export class GeyserSubscriber {
  private readonly stream: GrpcStream
  private readonly log: GeyserLog
  private readonly options: SubscriberOptions
  private readonly now: () => number
  private readonly pings: NodeJS.Timeout
  private readonly batch: Buffer[] = []
  private batchByteCount = 0
  private reading: Reading | undefined
  private isBlocked = false
  private isScheduled = false
  private isStalled = false
  private isEnded = false

  constructor(stream: GrpcStream, log: GeyserLog, options: SubscriberOptions, now: () => number) {
    this.stream = stream
    this.log = log
    this.options = options
    this.now = now
    this.pings = setInterval(() => this.say(encodePing(now())), options.pingMs).unref()
  }

  drained(): void {
    this.isBlocked = false
    this.pump()
  }

  /** Looks whether the log holds more for it. */
  pump(): void {
    const { reading } = this
    if (reading === undefined || this.isScheduled) return
    for (let looked = 0; looked < this.options.updatesPerTurnMax; looked++) {
      if (this.isEnded || this.isBlocked || this.isStalled) return
      if (this.step(reading) === 'waiting') return this.flush()
    }
    this.flush()
    this.isScheduled = true
    setImmediate(() => {
      this.isScheduled = false
      this.pump()
    })
  }

  /** Ends it where it is too far behind. Called when a slot ends. */
  checkLag(): void {
    const { reading } = this
    if (reading === undefined || this.isEnded) return
    const level = this.log.levels[reading.level]
    const segment = level.segments[reading.position - level.firstPosition]
    const read = Math.max(segment?.bytesBefore ?? level.byteCount, reading.byteCountAtStart)
    const isGone = reading.position < level.firstPosition
    if (isGone || level.byteCount - read > this.options.lagBytesMax) this.fail(LAGGED)
  }

  /** Test fault: nothing is sent, not even pings, until it is lifted. */
  setStalled(isStalled: boolean): void {
    this.isStalled = isStalled
    this.pump()
  }

  fail(end: GrpcStatus): void {
    if (this.isEnded) return
    this.stop()
    this.stream.end(end)
  }

  /** The client is gone, or is to be forgotten. */
  stop(): void {
    this.isEnded = true
    clearInterval(this.pings)
  }

  /** A request of the client. */
  receive(bytes: Buffer): void {
    if (this.isEnded) return
    try {
      const request = decodeSubscribeRequest(bytes)
      if (request.pingId !== undefined) this.say(encodePong(request.pingId, this.now()))
      else this.subscribe(request)
    } catch (error) {
      if (!(error instanceof FilterError || error instanceof ProtobufError)) throw error
      this.fail({ code: GRPC_STATUS.invalidArgument, details: error.message })
    }
  }

  private step(reading: Reading): 'more' | 'waiting' {
    const level = this.log.levels[reading.level]
    const index = reading.position - level.firstPosition
    if (index < 0) {
      this.fail(LAGGED)
      return 'waiting'
    }
    const segment = level.segments[index]
    const isHidden =
      segment?.hidden === 'always' ||
      (segment?.hidden === 'live' && reading.position >= reading.livePosition)
    const entry = isHidden ? undefined : segment?.entries[reading.entryIndex]
    if (entry === undefined) {
      if (index >= level.segments.length - 1) return 'waiting'
      reading.position++
      reading.entryIndex = 0
      return 'more'
    }
    reading.entryIndex++
    this.add(reading.toMessage(entry))
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

  /** A message that is not of the log. */
  private say(message: Buffer): void {
    if (this.isStalled) return
    this.add([message])
    this.flush()
  }

  /**
   * The new filters take the place of all earlier ones; without a slot to replay from, reading goes
   * on where it was.
   */
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
      this.reading = { ...start, position: replay.position, entryIndex: 0 }
    } else if (this.reading?.level === level) {
      this.reading = { ...this.reading, toMessage }
    } else {
      this.reading = { ...start, position: head.position, entryIndex: head.entryIndex }
    }
    this.pump()
  }
}

const LAGGED: GrpcStatus = { code: GRPC_STATUS.internal, details: 'lagged to send an update' }
