import * as addon from '#native'
import { ENCODINGS, type DataSlice, type Encoding } from './account-view.js'
import { toFanout, type Fanout, type FanoutOptions } from './fanout.js'
import type { BodySource } from '../shared/http.js'
import { callNative, NativeError, toFailure } from './errors.js'
import { RpcError } from '../shared/errors.js'
import type {
  Commitment,
  FeeQuery,
  Owner,
  PackedMessage,
  PackLimits,
  Page,
  ReadLimits,
  Reads,
  ReplyBytes,
} from './reads.js'
import { FEE_LEVELS } from './reads.js'
import type { StoreOptions, StoreStats, Tip } from './store.js'

export type PoolOptions = addon.PoolOptions
export type PoolStats = addon.PoolStats

/**
 * A transaction that may land. Bytes are `latin1` strings, because thousands of them are kept for a
 * minute: V8 frees the memory of each byte array separately, all of them in one turn of the loop.
 */
export type AwaitedTransaction = {
  /** 64 bytes. */
  readonly signature: string
  /** 32 bytes, of a durable nonce its value; undefined if nothing of it is wanted. */
  readonly blockhash: string | undefined
  /** 32 bytes: the account of its durable nonce, if it has one. */
  readonly nonce: string | undefined
  /** Slots before it are not searched, apart from up to 15. */
  readonly sinceSlot: number
}

/** What the index knows of one: the block that it is in, or how long it may land. */
export type IndexOutcome = {
  /** Its position among those that were asked for. */
  readonly index: number
  readonly slot?: number
  /** In its block; absent of a block that an older build wrote. */
  readonly position?: number
  /** The chain's error; null is success. */
  readonly error?: unknown
  /** The block of its blockhash, if it is among the last 512. */
  readonly blockhashSlot?: number
  readonly lastValidBlockHeight?: number
  /** The slot since which the account of its nonce is as it is. */
  readonly nonceSlot?: number
  /** Whether that account has the transaction's nonce. */
  readonly hasNonce?: boolean
}

/** Outcomes as of one block. */
export type IndexOutcomes = {
  readonly slot: number
  readonly blockHeight: number
  /** The newest block that is known to be final, if it is stored. */
  readonly finalized?: { readonly slot: number; readonly blockHeight: number } | undefined
  /** The outcomes of all blocks after this slot are known. */
  readonly knownAfter: number
  /** Those of which something is known, in the order in which they were asked for. */
  readonly transactions: readonly IndexOutcome[]
}

/** A row of the addon: signature, blockhash, account of the nonce, slot. */
const AWAITED_BYTES = 64 + 32 + 32 + 8
/** Of the last eight bytes; the others are zeros. */
const SLOT_BYTES = 6

const toAwaitedRows = (awaited: readonly AwaitedTransaction[]): Buffer => {
  const rows = Buffer.alloc(awaited.length * AWAITED_BYTES)
  let end = 0
  for (const { signature, blockhash, nonce, sinceSlot } of awaited) {
    rows.write(signature, end, 'latin1')
    if (blockhash !== undefined) rows.write(blockhash, end + 64, 'latin1')
    if (nonce !== undefined) rows.write(nonce, end + 96, 'latin1')
    end += AWAITED_BYTES
    rows.writeUIntBE(sinceSlot, end - SLOT_BYTES, SLOT_BYTES)
  }
  return rows
}

/** The whole JSON that a task made. */
const readJson = async (source: BodySource): Promise<unknown> => {
  const chunks: Buffer[] = []
  const into = Buffer.allocUnsafe(JSON_CHUNK_BYTES)
  for (;;) {
    const count = await source.read(into)
    if (count === 0) return JSON.parse(Buffer.concat(chunks).toString())
    chunks.push(Buffer.from(into.subarray(0, count)))
  }
}

/** A store that is open for reading. */
export type Reader = {
  /** The view, with the reader's timeouts and limits. */
  reads(limits: ReadLimits): Reads
  tip(): Tip | undefined
  /** The time of a slot of this chain, by the times of its blocks: from 50 to 2,000. */
  slotMs(): number
  /** Whether an account that is not in the store does not exist. */
  isComplete(): boolean
  stats(): StoreStats
  poolStats(): PoolStats
  /**
   * What became of at most 1,024 transactions; undefined before the first block. Runs on the pool
   * of scans.
   */
  outcomes(
    awaited: readonly AwaitedTransaction[],
    timeoutMs: number,
  ): Promise<IndexOutcomes | undefined>
  /** Changes of the store as frames for subscribers. It keeps the store open until it is closed. */
  openFanout(options: FanoutOptions): Fanout
  /** Closes the store when the running reads have ended. */
  close(): void
}

/** The addon's numbers of the methods in its fast lane. */
export const FAST_METHODS = [
  'getLatestBlockhash',
  'getAccountInfo',
  'getMultipleAccounts',
  'getTokenAccountBalance',
  'getTokenSupply',
  'getTokenLargestAccounts',
] as const
/** Packing of a method's number and a reply's length in the integer that `fast` returns. */
const METHOD_SHIFT = 24
const LENGTH_MASK = 2 ** METHOD_SHIFT - 1

/** The addon's number of no slot. */
const NO_SLOT = -1

/** Bytes of a JSON answer that are copied at once. */
const JSON_CHUNK_BYTES = 4 * 1024

/** Maximum reply of a synchronous point read; a pool makes larger ones. */
const OUT_BYTES = 1024 * 1024

// One buffer per process: each point read is written to its socket before the next one begins.
const out = Buffer.allocUnsafeSlow(OUT_BYTES)

/**
 * Closed replies, to be reused: V8 keeps an object of the addon until it collects the old
 * generation, and then runs thousands of finalizers in one turn.
 */
const unused: addon.NativeReply[] = []
/** More are left to the garbage collector. */
const UNUSED_MAX = 1_024

/** The reply of one task. */
class TaskReply implements BodySource {
  readonly byteLength: number | undefined
  /** Undefined once closed: another task may use it. */
  private reply: addon.NativeReply | undefined

  constructor(reply: addon.NativeReply) {
    this.reply = reply
    this.byteLength = reply.byteLength ?? undefined
  }

  read(into: Uint8Array): number | Promise<number> {
    const count = this.readNow(into)
    return count >= 0 ? count : this.readWhenThere(into)
  }

  refusedCount(): number {
    return this.reply?.refusedCount ?? 0
  }

  close(): void {
    const { reply } = this
    if (reply === undefined) return
    this.reply = undefined
    reply.close()
    if (unused.length < UNUSED_MAX) unused.push(reply)
  }

  private async readWhenThere(into: Uint8Array): Promise<number> {
    for (;;) {
      await this.reply?.wait()
      const count = this.readNow(into)
      if (count >= 0) return count
    }
  }

  private readNow(into: Uint8Array): number {
    const { reply } = this
    if (reply === undefined) throw new NativeError('internal', 'the reply of a task is closed')
    return callNative(() => reply.read(into))
  }
}

type Start = (reply: addon.NativeReply) => Promise<addon.TaskResult>

/** The reply of the task that `start` starts. `limit` is the page size, for a failure's `data`. */
const taken = async (start: Start, limit?: number): Promise<BodySource> => {
  const reply = unused.pop() ?? new addon.NativeReply()
  const { failure } = await callNative(() => start(reply))
  const source = new TaskReply(reply)
  if (failure === undefined) return source
  source.close()
  throw toFailure(failure, limit)
}

const toRefusal = (
  refusal: NonNullable<addon.PackedMessage['refusal']>,
  { batchCountMax, loopBytesMax }: PackLimits,
): RpcError => {
  if (refusal === 'batchTooLong') return new RpcError(refusal, { max: batchCountMax })
  if (refusal === 'messageTooLong') return new RpcError(refusal, { max: loopBytesMax })
  return new RpcError('parseError')
}

const pack = async (
  native: addon.Reader,
  body: Uint8Array,
  limits: PackLimits,
): Promise<PackedMessage> => {
  const { batchCountMax: callsMax, nestingMax, loopBytesMax: textBytesMax } = limits
  const { refusal, text, lists, elements } = await callNative(() =>
    native.packMessage(body, { callsMax, nestingMax, textBytesMax }),
  )
  if (refusal !== undefined) throw toRefusal(refusal, limits)
  return {
    text,
    elements,
    lists: lists.map(({ keys, failure = { code: 'internal' } }) => keys ?? toFailure(failure)),
  }
}

const toPage = (page: Page, limits: ReadLimits): addon.PageData => ({
  encoding: ENCODINGS[page.encoding],
  sliceOffset: page.dataSlice?.offset ?? -1,
  sliceLength: page.dataSlice?.length ?? 0,
  limit: page.limit,
  ...(page.after === undefined ? {} : { after: page.after }),
  scanMs: limits.scanMs,
  replyBytesMax: limits.pageReplyBytesMax,
})

const toFeeQuery = (query: FeeQuery): addon.FeeEstimateQuery => ({
  accounts: query.accounts,
  ...(query.transaction === undefined ? {} : { transaction: query.transaction.text }),
  isBase64: query.transaction?.isBase64 === true,
  level: FEE_LEVELS[query.level],
  blocks: 'blocks' in query.span ? query.span.blocks : 0,
  spanMs: 'ms' in query.span ? query.span.ms : 0,
  includesVotes: query.includesVotes,
  emptyIsZero: query.emptyIsZero,
  hasDetails: query.hasDetails,
  hasContext: query.hasContext,
})

const isFinalized = (commitment: Commitment): boolean => commitment === 'finalized'

const toReads = (native: addon.Reader, limits: ReadLimits): Reads => {
  const lane = callNative(() => native.fastLane(limits.recentResultsMax))
  const fast = callNative(() => lane.asFunction())
  /** Output of a point read. −1 means "too large", which only reads with a task may return. */
  const written = (length: number): Uint8Array => {
    if (length < 0) throw new NativeError('internal', 'a small read did not fit its buffer')
    return out.subarray(0, length)
  }
  const accountsOf = (
    keys: Uint8Array,
    isSingle: boolean,
    encoding: Encoding,
    slice: DataSlice | undefined,
    owner: Owner,
    since = NO_SLOT,
  ): ReplyBytes | Promise<ReplyBytes> => {
    const code = ENCODINGS[encoding]
    const offset = slice?.offset ?? -1
    const length = slice?.length ?? 0
    const count = callNative(() =>
      isSingle
        ? native.account(keys, code, offset, length, since, out)
        : native.accounts(keys, code, offset, length, since, out),
    )
    if (count >= 0) return out.subarray(0, count)
    return taken(reply =>
      native.accountsTask(
        keys,
        isSingle,
        code,
        offset,
        length,
        since,
        limits.readTimeoutMs,
        reply,
        owner,
      ),
    )
  }
  return {
    lane,
    fast: body => {
      const answered = fast(body, out)
      if (answered === 0) return undefined
      const method = FAST_METHODS[answered >>> METHOD_SHIFT] ?? 'unknown'
      return { bytes: out.subarray(0, answered & LENGTH_MASK), method }
    },
    pack: (body, limits) => pack(native, body, limits),
    block: commitment =>
      callNative(() => (isFinalized(commitment) ? native.finalized() : native.tip())) ?? undefined,
    latestBlockhash: commitment =>
      written(callNative(() => native.latestBlockhash(isFinalized(commitment), out))),
    account: (key, encoding, slice, owner, since) =>
      accountsOf(key, true, encoding, slice, owner, since),
    accounts: (keys, encoding, slice, owner, since) =>
      accountsOf(keys, false, encoding, slice, owner, since),
    balance: (key, commitment) =>
      written(callNative(() => native.balance(key, isFinalized(commitment), out))),
    blockhashValidity: (hash, commitment) =>
      written(callNative(() => native.blockhashValidity(hash, isFinalized(commitment), out))),
    tokenBalance: (key, since = NO_SLOT) =>
      written(callNative(() => native.tokenBalance(key, since, out))),
    tokenSupply: (mint, since = NO_SLOT) =>
      written(callNative(() => native.tokenSupply(mint, since, out))),
    largestHolders: (mint, owner) => {
      const count = callNative(() => native.largestHolders(mint, out))
      if (count >= 0) return out.subarray(0, count)
      return taken(reply => native.largestHoldersTask(mint, limits.readTimeoutMs, reply, owner))
    },
    recentFees: (accounts, percentile, spanMs = 0, owner = undefined) =>
      taken(reply =>
        native.recentFees(accounts, percentile, spanMs, limits.readTimeoutMs, reply, owner),
      ),
    feeEstimate: (query, owner) =>
      taken(reply => native.feeEstimate(toFeeQuery(query), limits.readTimeoutMs, reply, owner)),
    tipPercentiles: (groups, spanMs = 0, owner = undefined) =>
      taken(reply =>
        native.tipPercentiles([...groups], spanMs, limits.readTimeoutMs, reply, owner),
      ),
    programPage: (page, owner) =>
      taken(
        reply =>
          native.programPage(
            {
              program: page.program,
              filters: [...page.filters],
              changedSinceSlot: page.changedSinceSlot ?? NO_SLOT,
              page: toPage(page, limits),
            },
            limits.readTimeoutMs,
            reply,
            owner,
          ),
        page.limit,
      ),
    ownerPage: (page, owner) =>
      taken(
        reply =>
          native.ownerPage(
            { wallet: page.wallet, ...page.filter, page: toPage(page, limits) },
            limits.readTimeoutMs,
            reply,
            owner,
          ),
        page.limit,
      ),
  }
}

/** Wraps a reader of the addon. */
export const toReader = (native: addon.Reader): Reader => ({
  reads: limits => toReads(native, limits),
  tip: () => callNative(() => native.tip()) ?? undefined,
  slotMs: () => callNative(() => native.slotMs()),
  isComplete: () => callNative(() => native.isComplete()),
  stats: () => callNative(() => native.stats()),
  poolStats: () => callNative(() => native.poolStats()),
  outcomes: async (awaited, timeoutMs) => {
    const rows = toAwaitedRows(awaited)
    const source = await taken(reply => native.outcomes(rows, timeoutMs, reply))
    try {
      // The addon wrote it.
      return ((await readJson(source)) as IndexOutcomes | null) ?? undefined
    } finally {
      source.close()
    }
  },
  openFanout: options => toFanout(callNative(() => native.openFanout(options))),
  close: () => native.close(),
})

/** Opens the store that an indexer wrote. A process may open each store once. */
export const openReader = (dir: string, store: StoreOptions, pools: PoolOptions): Reader =>
  toReader(callNative(() => new addon.Reader(dir, store, pools)))
