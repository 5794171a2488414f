import type { TransactionRecord } from '../chain/block.js'
import type { Chain } from '../chain/chain.js'
import { toMapKey } from '../solana/addresses.js'
import type { SlotEntry, TransactionEntry } from './feed-entry.js'
import { createFilter, type ToMessage } from './filter.js'
import { encodeFrameHeader, GRPC_STATUS, GrpcError, type GrpcStatus } from './grpc-message.js'
import type { StreamsOptions } from './feed-streams.js'
import type { GrpcStream, StreamListener } from './grpc-server.js'
import { SLOT_STATUS, type SlotStatus, transactionMessage, update } from './messages.js'
import { decodeFields, MessageWriter, ProtobufError } from './protobuf.js'
import {
  all,
  COMMITMENT,
  decodeMap,
  decodeSlots,
  FilterError,
  find,
  optionalBool,
  pubkey,
  type SubscribeRequest,
  type TransactionsFilter,
} from './request.js'

/** Bounds of the streams. */
const defaults = {
  /** Bytes that a client has not taken; then its stream is ended. */
  deshredBytesMax: 64 * 1024 * 1024,
  /** Concurrent streams. */
  deshredStreamsMax: 64,
}

/** Fields of `SubscribeUpdateDeshred`. */
const FIELD = { transaction: 2, ping: 3, pong: 4, createdAt: 5, slot: 6 } as const

const encodeTransaction = (record: TransactionRecord, nowMs: number): Buffer => {
  const info = new MessageWriter(2048)
    .bytesField(1, record.signature)
    .message(3, transactionMessage(record.transaction))
  for (const key of record.loadedWritable) info.bytesAlways(4, key)
  for (const key of record.loadedReadonly) info.bytesAlways(5, key)
  info.uint(6, record.index).uint(7, record.index + 1)
  const message = new MessageWriter(2048).message(1, info).uint(2, record.slot)
  return update(FIELD.transaction, message, nowMs, FIELD.createdAt)
}

const toEntry = (record: TransactionRecord, nowMs: number): TransactionEntry => {
  const { transaction, loadedWritable, loadedReadonly, signature } = record
  return {
    kind: 'transaction',
    signature: toMapKey(signature),
    // Not known yet: no filter asks for it.
    isFailed: false,
    keys: [...transaction.keys, ...loadedWritable, ...loadedReadonly].map(toMapKey).join(''),
    body: encodeTransaction(record, nowMs),
  }
}

const decodeFilter = (bytes: Uint8Array): TransactionsFilter => {
  const fields = decodeFields(bytes)
  return {
    isVote: optionalBool(fields, 1),
    isFailed: undefined,
    signature: undefined,
    include: all(fields, 2, pubkey),
    exclude: all(fields, 3, pubkey),
    required: all(fields, 4, pubkey),
  }
}

type Asked = { readonly pingId: number | undefined; readonly request: SubscribeRequest }

/** Of a request for updates only its transactions and slots are filled. */
const decodeRequest = (bytes: Uint8Array): Asked => {
  const fields = decodeFields(bytes)
  const ping = find(fields, 2)
  const request: SubscribeRequest = {
    accounts: new Map(),
    slots: decodeMap(fields, 3, decodeSlots),
    transactions: decodeMap(fields, 1, decodeFilter),
    transactionsStatus: new Map(),
    blocks: new Map(),
    blocksMeta: [],
    entries: [],
    footers: new Map(),
    commitment: COMMITMENT.processed,
    slices: [],
    pingId: undefined,
    fromSlot: undefined,
  }
  const id = ping && (find(decodeFields(ping.bytes), 1)?.varint ?? 0n)
  return {
    pingId: id === undefined ? undefined : Number(BigInt.asIntN(32, id)),
    request,
  }
}

const FULL: GrpcStatus = {
  code: GRPC_STATUS.resourceExhausted,
  details: 'too many subscriptions',
}
const LAGGED: GrpcStatus = { code: GRPC_STATUS.internal, details: 'lagged to send an update' }

/** One stream. */
class DeshredStream {
  private readonly stream: GrpcStream
  private readonly admit: StreamsOptions['admit']
  private toMessage: ToMessage = () => []
  /** Written at the end of a turn: Rust clients close a connection with many small frames. */
  private batch: Buffer[] = []
  private unsentBytes = 0
  private isEnded = false

  constructor(stream: GrpcStream, admit: StreamsOptions['admit']) {
    this.stream = stream
    this.admit = admit
  }

  receive(bytes: Buffer, nowMs: number): void {
    try {
      const { pingId, request } = decodeRequest(bytes)
      if (pingId === undefined) {
        this.admit?.(request, true)
        this.toMessage = createFilter(request)
      } else
        this.write([
          update(FIELD.pong, new MessageWriter(16).int(1, pingId), nowMs, FIELD.createdAt),
        ])
    } catch (error) {
      if (error instanceof GrpcError) return this.fail({ code: error.code, details: error.message })
      if (!(error instanceof FilterError || error instanceof ProtobufError)) throw error
      this.fail({ code: GRPC_STATUS.invalidArgument, details: error.message })
    }
  }

  send(entry: TransactionEntry | SlotEntry): void {
    const parts = this.toMessage(entry)
    if (parts.length > 0) this.write(parts)
  }

  write(parts: readonly Buffer[]): void {
    if (this.isEnded) return
    const byteCount = parts.reduce((sum, { length }) => sum + length, 0)
    if (this.batch.length === 0) setImmediate(() => this.flush())
    this.batch.push(encodeFrameHeader(byteCount), ...parts)
  }

  private flush(): void {
    const bytes = Buffer.concat(this.batch)
    this.batch = []
    if (this.isEnded) return
    this.unsentBytes = this.stream.write(bytes) ? 0 : this.unsentBytes + bytes.length
    if (this.unsentBytes > defaults.deshredBytesMax) this.fail(LAGGED)
  }

  drained(): void {
    this.unsentBytes = 0
  }

  fail(status: GrpcStatus): void {
    if (this.isEnded) return
    this.isEnded = true
    this.stream.end(status)
  }
}

/** The open SubscribeDeshred streams: each transaction before it is executed, and slots. */
export class DeshredStreams {
  private readonly streams = new Set<DeshredStream>()
  private readonly now: () => number
  private readonly admit: StreamsOptions['admit']
  private readonly pings: NodeJS.Timeout

  constructor(
    chain: Chain,
    now: () => number,
    { admit, pingMs }: Pick<StreamsOptions, 'admit' | 'pingMs'>,
  ) {
    this.now = now
    this.admit = admit
    chain.on('deshredded', record => this.send(toEntry(record, now())))
    chain.on('slotStarted', (slot, parent) => this.sendSlot(slot, parent, 'firstShredReceived'))
    chain.on('status', (slot, parent, status) => this.sendSlot(slot, parent, status))
    this.pings = setInterval(() => this.ping(), pingMs).unref()
  }

  /** Handles a new SubscribeDeshred call. */
  subscribe(stream: GrpcStream): StreamListener {
    const opened = new DeshredStream(stream, this.admit)
    if (this.streams.size >= defaults.deshredStreamsMax) opened.fail(FULL)
    else this.streams.add(opened)
    return {
      message: bytes => opened.receive(bytes, this.now()),
      drained: () => opened.drained(),
      closed: () => void this.streams.delete(opened),
    }
  }

  /** Ends every stream with a status. */
  drop(status: GrpcStatus): void {
    for (const stream of this.streams) stream.fail(status)
  }

  close(): void {
    clearInterval(this.pings)
  }

  private ping(): void {
    const ping = update(FIELD.ping, new MessageWriter(1), this.now(), FIELD.createdAt)
    for (const stream of this.streams) stream.write([ping])
  }

  private sendSlot(slot: number, parentSlot: number, status: SlotStatus): void {
    const message = new MessageWriter(32)
      .uint(1, slot)
      .uintAlways(2, parentSlot)
      .uint(3, SLOT_STATUS[status])
    const body = update(FIELD.slot, message, this.now(), FIELD.createdAt)
    this.send({ kind: 'slot', status, body })
  }

  private send(entry: TransactionEntry | SlotEntry): void {
    for (const stream of this.streams) stream.send(entry)
  }
}
