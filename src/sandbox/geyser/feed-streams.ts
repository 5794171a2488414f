import type { Chain } from '../chain/chain.js'
import type { FeedLog } from './feed-log.js'
import { GRPC_STATUS, type GrpcStatus } from './grpc-message.js'
import type { GrpcStream, StreamListener } from './grpc-server.js'
import { checkLimits, type FilterLimits } from './limits.js'
import type { SubscribeRequest } from './request.js'
import { defaults as subscriberDefaults, GeyserSubscriber } from './subscriber.js'

/** Options of the streams. */
export const defaults = {
  ...subscriberDefaults,
  /** Concurrent streams. */
  subscribersMax: 256,
}
export type StreamsOptions = typeof defaults & {
  /** Limits of one subscription; without them everything is allowed. */
  readonly filters?: FilterLimits
  /** Throws GrpcError for what this server does not have; of SubscribeDeshred, too. */
  readonly admit?: (request: SubscribeRequest, isDeshred: boolean) => void
}

const FULL: GrpcStatus = {
  code: GRPC_STATUS.resourceExhausted,
  details: 'too many subscriptions',
}

/** The open Subscribe streams, and the faults that concern all of them. */
export class FeedStreams {
  private readonly subscribers = new Set<GeyserSubscriber>()
  private readonly log: FeedLog
  private readonly options: StreamsOptions
  private readonly now: () => number
  private stallTimer: NodeJS.Timeout | undefined
  private burstSlots = 0
  private refusal: { readonly status: GrpcStatus; count: number } | undefined

  constructor(chain: Chain, log: FeedLog, options: StreamsOptions, now: () => number) {
    this.log = log
    this.options = options
    this.now = now
    log.onAppended(() => {
      for (const subscriber of this.subscribers) subscriber.sendPending()
    })
    chain.on('slotStarted', () => this.onSlotStarted())
  }

  /** Handles a new Subscribe call. */
  subscribe(stream: GrpcStream): StreamListener {
    const refused = this.refusalOf()
    const check = (request: SubscribeRequest): void => {
      checkLimits(request, this.options.filters)
      this.options.admit?.(request, false)
    }
    const subscriber = new GeyserSubscriber(stream, this.log, { ...this.options, check }, this.now)
    if (refused !== undefined) subscriber.fail(refused)
    else this.subscribers.add(subscriber)
    if (this.isStalled) subscriber.setStalled(true)
    return {
      message: bytes => subscriber.receive(bytes),
      drained: () => subscriber.drained(),
      closed: () => {
        subscriber.stop()
        this.subscribers.delete(subscriber)
      },
    }
  }

  /** Ends every stream with a status. */
  drop(status: GrpcStatus): void {
    for (const subscriber of this.subscribers) subscriber.fail(status)
  }

  stall(ms: number): void {
    clearTimeout(this.stallTimer)
    this.stallTimer = setTimeout(() => {
      this.stallTimer = undefined
      this.updateStalled()
    }, ms)
    this.updateStalled()
  }

  burst(slots: number): void {
    this.burstSlots = slots
    this.updateStalled()
  }

  refuse(status: GrpcStatus, count: number): void {
    this.refusal = { status, count }
  }

  close(): void {
    clearTimeout(this.stallTimer)
    for (const subscriber of this.subscribers) subscriber.stop()
  }

  private get isStalled(): boolean {
    return this.stallTimer !== undefined || this.burstSlots > 0
  }

  private refusalOf(): GrpcStatus | undefined {
    const { refusal } = this
    if (refusal !== undefined && refusal.count-- > 0) return refusal.status
    return this.subscribers.size < this.options.subscribersMax ? undefined : FULL
  }

  private onSlotStarted(): void {
    for (const subscriber of this.subscribers) subscriber.checkLag()
    if (this.burstSlots === 0) return
    this.burstSlots -= 1
    this.updateStalled()
  }

  private updateStalled(): void {
    for (const subscriber of this.subscribers) subscriber.setStalled(this.isStalled)
  }
}
