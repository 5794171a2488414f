import { type ServerDuplexStream, status } from '@grpc/grpc-js'
import { createFilter, type ToFrame } from './geyser-filter.js'
import type { GeyserLog } from './geyser-log.js'
import { encodePing, encodePong } from './geyser-messages.js'
import { decodeSubscribeRequest, FilterError, type SubscribeRequest } from './geyser-request.js'
import { ProtobufError } from './protobuf.js'

/** Bounds of one stream. */
export const defaults = {
  /**
   * Said but not read: a stream that is further behind than this is ended. What it holds is in the
   * log, not in a queue of its own.
   */
  lagBytesMax: 64 * 1024 * 1024,
  /** Updates looked at in one turn, so that a long replay does not stop the chain. */
  updatesPerTurnMax: 512,
  /** Idle streams hear a ping this often, as from public servers. */
  pingMs: 10_000,
}
export type SubscriberOptions = typeof defaults

export type Call = ServerDuplexStream<Buffer, Buffer>

/** An end that the client sees. */
export type StreamEnd = { readonly code: status; readonly details: string }

type Reading = {
  readonly toFrame: ToFrame
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
  private readonly call: Call
  private readonly log: GeyserLog
  private readonly options: SubscriberOptions
  private readonly now: () => number
  private readonly pings: NodeJS.Timeout
  private reading: Reading | undefined
  private isBlocked = false
  private isScheduled = false
  private isStalled = false
  private isEnded = false

  constructor(call: Call, log: GeyserLog, options: SubscriberOptions, now: () => number) {
    this.call = call
    this.log = log
    this.options = options
    this.now = now
    this.pings = setInterval(() => this.write(encodePing(now())), options.pingMs).unref()
    call.on('data', (bytes: Buffer) => this.receive(bytes))
    call.on('drain', () => {
      this.isBlocked = false
      this.pump()
    })
    call.on('end', () => this.end())
  }

  /** Looks whether the log holds more for it. */
  pump(): void {
    if (this.isEnded || this.isBlocked || this.isScheduled || this.isStalled) return
    const { reading } = this
    if (reading === undefined) return
    for (let looked = 0; looked < this.options.updatesPerTurnMax; looked++) {
      const step = this.step(reading)
      if (step === 'waiting' || this.isBlocked) return
    }
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

  fail(end: StreamEnd): void {
    if (this.isEnded) return
    this.stop()
    this.call.emit('error', end)
  }

  /** The client closed or vanished. */
  stop(): void {
    this.isEnded = true
    clearInterval(this.pings)
  }

  private end(): void {
    if (this.isEnded) return
    this.stop()
    this.call.end()
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
    const frame = reading.toFrame(entry)
    if (frame !== undefined) this.write(frame)
    return 'more'
  }

  private write(frame: Buffer): void {
    if (this.isEnded || this.isStalled) return
    if (!this.call.write(frame)) this.isBlocked = true
  }

  private receive(bytes: Buffer): void {
    if (this.isEnded) return
    try {
      const request = decodeSubscribeRequest(bytes)
      if (request.pingId !== undefined) this.write(encodePong(request.pingId, this.now()))
      else this.subscribe(request)
    } catch (error) {
      if (!(error instanceof FilterError || error instanceof ProtobufError)) throw error
      this.fail({ code: status.INVALID_ARGUMENT, details: error.message })
    }
  }

  /**
   * The new filters take the place of all earlier ones; without a slot to replay from, reading goes
   * on where it was.
   */
  private subscribe(request: SubscribeRequest): void {
    const { commitment: level, fromSlot } = request
    const toFrame = createFilter(request, this.now)
    const head = this.log.headOf(level)
    const start = { toFrame, level, byteCountAtStart: head.byteCount, livePosition: head.position }
    if (fromSlot !== undefined) {
      const replay = this.log.replayFrom(level, fromSlot)
      if ('oldestSlot' in replay)
        return this.fail({
          code: status.OUT_OF_RANGE,
          details: `broadcast from ${fromSlot} is not available, last available: ${replay.oldestSlot}`,
        })
      this.reading = { ...start, position: replay.position, entryIndex: 0 }
    } else if (this.reading?.level === level) {
      this.reading = { ...this.reading, toFrame }
    } else {
      this.reading = { ...start, position: head.position, entryIndex: head.entryIndex }
    }
    this.pump()
  }
}

const LAGGED: StreamEnd = { code: status.INTERNAL, details: 'lagged to send an update' }
