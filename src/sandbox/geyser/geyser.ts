import bs58 from 'bs58'
import type { Chain } from '../chain/chain.js'
import { createControl } from './control-command.js'
import type { Hidden } from './faults.js'
import { checkLimits, type FilterLimits } from './limits.js'
import { defaults as logDefaults, GeyserLog } from './feed-log.js'
import { COMMITMENT, type SubscribeRequest } from './request.js'
import { defaults as subscriberDefaults, GeyserSubscriber } from './subscriber.js'
import {
  GRPC_STATUS,
  GrpcError,
  type GrpcStatus,
  type GrpcStream,
  openGrpcServer,
  type StreamListener,
} from './grpc-server.js'
import { decodeFields, type Field, MessageWriter, ProtobufError } from './protobuf.js'

/** Options of the feed. */
export const defaults = {
  ...logDefaults,
  ...subscriberDefaults,
  /** Loopback only: the sandbox asks nobody who they are. */
  host: '127.0.0.1',
  /** 0 takes a free one. */
  port: 0,
  /** A request with very many addresses is this long at most. */
  requestBytesMax: 64 * 1024 * 1024,
  /** Streams at once; each reads the one log. */
  subscribersMax: 256,
}
export type GeyserOptions = typeof defaults & {
  /** What one subscription may ask for; absent is everything. */
  readonly filters?: FilterLimits
}

/** The feed of a dev chain, as outside clients and the indexer consume it. */
export type GeyserServer = {
  readonly url: string
  /** Ends every stream; by default as a server that goes away does. */
  dropStreams(end?: GrpcStatus): void
  /** Cuts every connection without a status, as a network does. */
  dropConnections(): void
  /** Nothing is sent for a while, pings included; connections stay. */
  stall(ms: number): void
  /** Nothing is sent until so many more slots have begun, and then all of it at once. */
  burst(slots: number): void
  /**
   * Of a slot that is open or to come nothing is said: to nobody, or (`live`) only to those who
   * replay it later.
   */
  omitSlot(slot: number, hidden?: Hidden): void
  /** The block meta of a slot that is open or to come names a parent hash that never was. */
  forgeParent(slot: number): void
  /** A slot is said twice. */
  doubleSlot(slot: number): void
  /** A slot is said after the one behind it. */
  swapSlot(slot: number): void
  /** A slot is followed by blocks that never come to be. */
  forkSlot(slot: number): void
  /** Slots before the open one can no longer be replayed. */
  forgetReplay(): void
  /** The next `count` subscriptions are refused. */
  refuse(end: GrpcStatus, count: number): void
  close(): Promise<void>
}

const VERSION = JSON.stringify({
  version: { package: 'slotline-sandbox', version: '0.1.0', proto: '14', solana: 'litesvm 1.5.0' },
  extra: {},
})

type Unary = (request: readonly Field[]) => MessageWriter

const createUnary = (chain: Chain, log: GeyserLog): Readonly<Record<string, Unary>> => {
  const find = (fields: readonly Field[], number: number): Field | undefined =>
    fields.findLast(field => field.number === number)
  /**
   * Slot and height at a commitment; before anything is final, those of the first block's parent.
   */
  const at = (fields: readonly Field[], field: number): { slot: number; blockHeight: number } => {
    const { slot, blockHeight } = chain.tip
    if (Number(find(fields, field)?.varint ?? 0n) !== COMMITMENT.finalized)
      return { slot, blockHeight }
    const { finalizedAfterSlots, firstSlot } = chain.options
    const depth = Math.min(finalizedAfterSlots, slot - firstSlot + 1)
    return { slot: slot - depth, blockHeight: blockHeight - depth }
  }
  return {
    Ping: fields => new MessageWriter(16).uint(1, find(fields, 1)?.varint ?? 0n),
    GetVersion: () => new MessageWriter().string(1, VERSION),
    GetSlot: fields => new MessageWriter(16).uint(1, at(fields, 1).slot),
    GetBlockHeight: fields => new MessageWriter(16).uint(1, at(fields, 1).blockHeight),
    GetLatestBlockhash: fields => {
      const { slot, blockHeight } = at(fields, 1)
      return new MessageWriter()
        .uint(1, slot)
        .string(2, chain.blockhashOf(slot))
        .uint(3, blockHeight + chain.options.blockhashAgeMax)
    },
    IsBlockhashValid: fields => {
      const blockhash = bs58.decodeUnsafe(Buffer.from(find(fields, 1)?.bytes ?? []).toString())
      const isValid = blockhash !== undefined && chain.isBlockhashValid(blockhash)
      return new MessageWriter(16).uint(1, at(fields, 2).slot).bool(2, isValid)
    },
    SubscribeReplayInfo: () => new MessageWriter(16).uintAlways(1, log.oldestSlot),
  }
}

const toHandler =
  (answer: Unary) =>
  (request: Buffer): Buffer => {
    try {
      return answer(decodeFields(request)).finish()
    } catch (error) {
      if (!(error instanceof ProtobufError)) throw error
      throw new GrpcError(GRPC_STATUS.invalidArgument, error.message)
    }
  }

const UNAVAILABLE: GrpcStatus = { code: GRPC_STATUS.unavailable, details: 'the feed goes away' }

const FULL: GrpcStatus = {
  code: GRPC_STATUS.resourceExhausted,
  details: 'too many subscriptions',
}

/**
 * Serves a chain as `geyser.Geyser`. Call it before `chain.start()`, so that the genesis can be
 * replayed.
 */
export const openGeyser = async (
  chain: Chain,
  options: Partial<GeyserOptions> = {},
  now: () => number = Date.now,
): Promise<GeyserServer> => {
  const limits = { ...defaults, ...options }
  const log = new GeyserLog(chain, limits, now)
  const subscribers = new Set<GeyserSubscriber>()
  let stalls: NodeJS.Timeout | undefined
  let burstSlots = 0
  const isStalled = (): boolean => stalls !== undefined || burstSlots > 0
  let refusal: { end: GrpcStatus; count: number } | undefined

  const refusalOf = (): GrpcStatus | undefined => {
    if (refusal !== undefined && refusal.count-- > 0) return refusal.end
    return subscribers.size < limits.subscribersMax ? undefined : FULL
  }
  const subscribe = (stream: GrpcStream): StreamListener => {
    const refused = refusalOf()
    const check = (request: SubscribeRequest): void => checkLimits(request, limits.filters)
    const subscriber = new GeyserSubscriber(stream, log, { ...limits, check }, now)
    if (refused !== undefined) subscriber.fail(refused)
    else subscribers.add(subscriber)
    if (isStalled()) subscriber.setStalled(true)
    return {
      message: bytes => subscriber.receive(bytes),
      drained: () => subscriber.drained(),
      closed() {
        subscriber.stop()
        subscribers.delete(subscriber)
      },
    }
  }
  log.onAppended(() => {
    for (const subscriber of subscribers) subscriber.pump()
  })
  chain.on('slotStarted', () => {
    for (const subscriber of subscribers) subscriber.checkLag()
  })

  const unary = Object.entries(createUnary(chain, log)).map(
    ([name, answer]) => [`/geyser.Geyser/${name}`, toHandler(answer)] as const,
  )
  const server = await openGrpcServer(
    {
      control: order => obey(order),
      unary: Object.fromEntries(unary),
      streaming: { '/geyser.Geyser/Subscribe': subscribe },
    },
    limits,
  )

  const setStalled = (): void => {
    for (const subscriber of subscribers) subscriber.setStalled(isStalled())
  }
  chain.on('slotStarted', () => {
    if (burstSlots === 0) return
    burstSlots -= 1
    setStalled()
  })
  const feed: GeyserServer = {
    url: `http://${limits.host}:${server.port}`,
    dropConnections: () => server.dropConnections(),
    dropStreams(end = UNAVAILABLE) {
      for (const subscriber of subscribers) subscriber.fail(end)
    },
    stall(ms) {
      clearTimeout(stalls)
      stalls = setTimeout(() => {
        stalls = undefined
        setStalled()
      }, ms)
      setStalled()
    },
    burst(slots) {
      burstSlots = slots
      setStalled()
    },
    omitSlot: (slot, hidden = 'always') => log.omit(slot, hidden),
    forgeParent: slot => void log.faults.forgedParents.add(slot),
    doubleSlot: slot => void log.faults.doubled.add(slot),
    swapSlot: slot => void log.faults.swapped.add(slot),
    forkSlot: slot => void log.faults.forked.add(slot),
    forgetReplay() {
      log.faults.replayFloor = chain.slot
    },
    refuse(end, count) {
      refusal = { end, count }
    },
    async close() {
      clearTimeout(stalls)
      for (const subscriber of subscribers) subscriber.stop()
      await server.close()
    },
  }
  const obey = createControl(feed, chain)
  return feed
}
