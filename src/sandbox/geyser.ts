import {
  Metadata,
  type sendUnaryData,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js'
import bs58 from 'bs58'
import type { Chain } from './chain.js'
import { defaults as logDefaults, GeyserLog, type Hidden } from './geyser-log.js'
import { COMMITMENT } from './geyser-request.js'
import {
  type Call,
  defaults as subscriberDefaults,
  GeyserSubscriber,
  type StreamEnd,
} from './geyser-subscriber.js'
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
export type GeyserOptions = typeof defaults

/** The feed of a dev chain, as outside clients and the indexer consume it. */
export type GeyserServer = {
  readonly url: string
  /** Ends every stream; by default as a server that goes away does. */
  dropStreams(end?: StreamEnd): void
  /** Nothing is sent for a while, pings included; connections stay. */
  stall(ms: number): void
  /**
   * Of a slot that is open or to come nothing is said: to nobody, or (`live`) only to those who
   * replay it later.
   */
  omitSlot(slot: number, hidden?: Hidden): void
  /** The block meta of a slot that is open or to come names a parent hash that never was. */
  forgeParent(slot: number): void
  /** The next `count` subscriptions are refused. */
  refuse(end: StreamEnd, count: number): void
  close(): Promise<void>
}

const identity = (bytes: Buffer): Buffer => bytes

const method = (name: string, isStream: boolean) => ({
  path: `/geyser.Geyser/${name}`,
  requestStream: isStream,
  responseStream: isStream,
  requestSerialize: identity,
  requestDeserialize: identity,
  responseSerialize: identity,
  responseDeserialize: identity,
})

const UNARY = [
  'Ping',
  'GetVersion',
  'GetSlot',
  'GetBlockHeight',
  'GetLatestBlockhash',
  'IsBlockhashValid',
  'SubscribeReplayInfo',
] as const

const SERVICE = {
  Subscribe: method('Subscribe', true),
  ...Object.fromEntries(UNARY.map(name => [name, method(name, false)])),
}

const VERSION = JSON.stringify({
  version: { package: 'slotline-sandbox', version: '0.1.0', proto: '14', solana: 'litesvm 1.5.0' },
  extra: {},
})

type Unary = (request: readonly Field[]) => MessageWriter

const createUnary = (
  chain: Chain,
  log: GeyserLog,
): Readonly<Record<(typeof UNARY)[number], Unary>> => {
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
  (call: ServerUnaryCall<Buffer, Buffer>, reply: sendUnaryData<Buffer>): void => {
    try {
      reply(null, answer(decodeFields(call.request)).finish())
    } catch (error) {
      if (!(error instanceof ProtobufError)) throw error
      reply({ code: status.INVALID_ARGUMENT, details: error.message })
    }
  }

const UNAVAILABLE: StreamEnd = { code: status.UNAVAILABLE, details: 'the feed goes away' }

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
  let refusal: { end: StreamEnd; count: number } | undefined

  const subscribe = (call: Call): void => {
    if (refusal !== undefined && refusal.count > 0) {
      refusal.count--
      call.emit('error', refusal.end)
      return
    }
    if (subscribers.size >= limits.subscribersMax) {
      call.emit('error', { code: status.RESOURCE_EXHAUSTED, details: 'too many subscriptions' })
      return
    }
    // Clients wait for the headers, and the first update may be far away.
    call.sendMetadata(new Metadata())
    const subscriber = new GeyserSubscriber(call, log, limits, now)
    if (stalls !== undefined) subscriber.setStalled(true)
    subscribers.add(subscriber)
    const forget = (): void => {
      subscriber.stop()
      subscribers.delete(subscriber)
    }
    for (const event of ['cancelled', 'close', 'error']) call.on(event, forget)
  }
  log.onAppended(() => {
    for (const subscriber of subscribers) subscriber.pump()
  })
  chain.on('slotStarted', () => {
    for (const subscriber of subscribers) subscriber.checkLag()
  })

  const server = new Server({
    'grpc.max_receive_message_length': limits.requestBytesMax,
    // Accounts are up to 10 MiB, and nothing forbids more.
    'grpc.max_send_message_length': -1,
  })
  const unary = createUnary(chain, log)
  const handlers: UntypedServiceImplementation = { Subscribe: subscribe }
  for (const name of UNARY) handlers[name] = toHandler(unary[name])
  server.addService(SERVICE, handlers)
  const port = await new Promise<number>((resolve, reject) => {
    const address = `${limits.host}:${limits.port}`
    server.bindAsync(address, ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    )
  })

  const setStalled = (isStalled: boolean): void => {
    for (const subscriber of subscribers) subscriber.setStalled(isStalled)
  }
  return {
    url: `http://${limits.host}:${port}`,
    dropStreams(end = UNAVAILABLE) {
      for (const subscriber of subscribers) subscriber.fail(end)
    },
    stall(ms) {
      clearTimeout(stalls)
      setStalled(true)
      stalls = setTimeout(() => {
        stalls = undefined
        setStalled(false)
      }, ms)
    },
    omitSlot: (slot, hidden = 'always') => log.omit(slot, hidden),
    forgeParent: slot => log.forgedParents.add(slot),
    refuse(end, count) {
      refusal = { end, count }
    },
    async close() {
      clearTimeout(stalls)
      for (const subscriber of subscribers) subscriber.stop()
      server.forceShutdown()
    },
  }
}
