import * as addon from '#native'
import { toCorrections, type Corrections } from './corrections.js'
import { ENCODINGS, type DataSlice, type Encoding } from './encodings.js'
import { toFanout, type Fanout, type FanoutOptions } from './fanout.js'
import type { BodySource } from './http.js'
import { call, NativeError, toFailure } from './native-failure.js'
import { toStoreCopy, type StoreCopy } from './store-copy.js'

export { ENCODINGS, NativeError }
export type { DataSlice, Encoding }

/** The newest block of a store. */
export type Tip = {
  readonly slot: number
  readonly parentSlot: number
  readonly blockHeight: number
  readonly blockhash: string
  readonly blockTime?: number | undefined
}

/** One condition of a program page; all must hold. */
export type Filter =
  { readonly dataSize: number } | { readonly offset: number; readonly bytes: Uint8Array }

/** What every page has in common. */
export type Page = {
  readonly encoding: Encoding
  readonly dataSlice: DataSlice | undefined
  readonly limit: number
  /** The page starts strictly after this key, also where it is gone. */
  readonly after: Uint8Array | undefined
}
export type ProgramPage = Page & {
  readonly program: Uint8Array
  readonly filters: readonly Filter[]
  readonly changedSinceSlot: number | undefined
}
export type OwnerPage = Page & {
  readonly wallet: Uint8Array
  readonly filter: { readonly mint: Uint8Array } | { readonly tokenProgram: 1 | 2 }
}

/** Result JSON: a view into a reused buffer (valid until the next read), or a source to stream from. */
export type ReplyBytes = Uint8Array | BodySource

/**
 * One indexed view, as the methods see it. Every read is one snapshot. A read that is too large for the
 * event loop answers a promise. Failures are RpcErrors.
 */
export type Reads = {
  /** The whole reply to a canonical point read, or undefined where the ordinary way must answer. */
  fast(body: Uint8Array): Uint8Array | undefined
  /** The method of the call that `fast` answered last. */
  fastMethod(): string
  tip(): Tip | undefined
  latestBlockhash(): ReplyBytes
  balance(key: Uint8Array): ReplyBytes
  /** Whether a transaction that names this hash may still land. */
  blockhashValidity(blockhash: Uint8Array): ReplyBytes
  account(
    key: Uint8Array,
    encoding: Encoding,
    slice: DataSlice | undefined,
  ): ReplyBytes | Promise<ReplyBytes>
  accounts(
    keys: Uint8Array,
    encoding: Encoding,
    slice: DataSlice | undefined,
  ): ReplyBytes | Promise<ReplyBytes>
  tokenBalance(key: Uint8Array): ReplyBytes
  tokenSupply(mint: Uint8Array): ReplyBytes
  largestHolders(mint: Uint8Array): ReplyBytes
  programPage(page: ProgramPage): Promise<ReplyBytes>
  ownerPage(page: OwnerPage): Promise<ReplyBytes>
}

/** Bounds of one read, as the JSON-RPC part has them. */
export type ReadLimits = {
  /** From the call to the last byte, waiting included, in milliseconds. */
  readonly readTimeoutMs: number
  /** Time that one page may scan once it runs, in milliseconds. */
  readonly scanMs: number
  readonly pageReplyBytesMax: number
  /** Results of the fast lane that are kept until the next commit, each of at most 2 KiB. */
  readonly recentResultsMax: number
}

export type StoreOptions = addon.StoreOptions
export type PoolOptions = addon.PoolOptions
export type StoreStats = addon.StoreStats
export type OpenRead = addon.OpenReadData
export type PoolStats = addon.PoolStats
export type FeedOptions = addon.FeedOptions
export type FeedEvent = addon.FeedEvent
export type BlockData = addon.BlockData

/** A store that is open for reading. */
export type Reader = {
  /** The view, with the time-outs and bounds of who asks. */
  reads(limits: ReadLimits): Reads
  tip(): Tip | undefined
  stats(): StoreStats
  poolStats(): PoolStats
  /** What the store gains, as frames for subscribers. It holds the store until it is closed itself. */
  openFanout(options: FanoutOptions): Fanout
  /** Lets the store go as soon as the reads that run have ended. */
  close(): void
}

/** The kernel's numbers of the methods in its fast lane. */
const FAST_METHODS = [
  'getLatestBlockhash',
  'getAccountInfo',
  'getMultipleAccounts',
  'getTokenAccountBalance',
  'getTokenSupply',
  'getTokenLargestAccounts',
] as const
/** How `fast` returns a method's number and a reply's length in one integer. */
const METHOD_SHIFT = 24
const LENGTH_MASK = 2 ** METHOD_SHIFT - 1

/** The largest reply that a point read may give at once; what is larger comes from a pool. */
const OUT_BYTES = 1024 * 1024

// One for the process: each point read is written out before the next one begins.
const out = Buffer.allocUnsafeSlow(OUT_BYTES)

const toSource = (reply: addon.NativeReply): BodySource => {
  const byteLength = reply.byteLength ?? undefined
  const readWhenThere = async (into: Uint8Array): Promise<number> => {
    for (;;) {
      await reply.wait()
      const count = call(() => reply.read(into))
      if (count >= 0) return count
    }
  }
  return {
    byteLength,
    read: into => {
      const count = call(() => reply.read(into))
      return count >= 0 ? count : readWhenThere(into)
    },
    close: () => reply.close(),
  }
}

/** The reply of a task. `limit` is the size of the page that it reads, for the failure's `data`. */
const taken = async (task: Promise<addon.TaskResult>, limit?: number): Promise<BodySource> => {
  const { reply, error, detail } = await task
  if (reply === undefined) throw toFailure(error ?? 'internal', detail ?? '', limit)
  return toSource(reply)
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

const toReads = (native: addon.Reader, limits: ReadLimits): Reads => {
  const fast = call(() => native.fastLane(out, limits.recentResultsMax))
  let fastMethod = 0
  /** What a point read wrote. −1 is "too large", which only reads with a task of their own may answer. */
  const written = (length: number): Uint8Array => {
    if (length < 0) throw new NativeError('internal', 'a small read did not fit its buffer')
    return out.subarray(0, length)
  }
  const accountsOf = (
    keys: Uint8Array,
    isSingle: boolean,
    encoding: Encoding,
    slice: DataSlice | undefined,
  ): ReplyBytes | Promise<ReplyBytes> => {
    const code = ENCODINGS[encoding]
    const offset = slice?.offset ?? -1
    const length = slice?.length ?? 0
    const count = call(() =>
      isSingle
        ? native.account(keys, code, offset, length, out)
        : native.accounts(keys, code, offset, length, out),
    )
    if (count >= 0) return out.subarray(0, count)
    return taken(
      call(() => native.accountsTask(keys, isSingle, code, offset, length, limits.readTimeoutMs)),
    )
  }
  return {
    fast: body => {
      const answered = fast(body)
      if (answered === 0) return undefined
      fastMethod = answered >>> METHOD_SHIFT
      return out.subarray(0, answered & LENGTH_MASK)
    },
    fastMethod: () => FAST_METHODS[fastMethod] ?? 'unknown',
    tip: () => call(() => native.tip()) ?? undefined,
    latestBlockhash: () => written(call(() => native.latestBlockhash(out))),
    account: (key, encoding, slice) => accountsOf(key, true, encoding, slice),
    accounts: (keys, encoding, slice) => accountsOf(keys, false, encoding, slice),
    balance: key => written(call(() => native.balance(key, out))),
    blockhashValidity: hash => written(call(() => native.blockhashValidity(hash, out))),
    tokenBalance: key => written(call(() => native.tokenBalance(key, out))),
    tokenSupply: mint => written(call(() => native.tokenSupply(mint, out))),
    largestHolders: mint => written(call(() => native.largestHolders(mint, out))),
    programPage: page =>
      taken(
        call(() =>
          native.programPage(
            {
              program: page.program,
              filters: [...page.filters],
              changedSinceSlot: page.changedSinceSlot ?? -1,
              page: toPage(page, limits),
            },
            limits.readTimeoutMs,
          ),
        ),
        page.limit,
      ),
    ownerPage: page =>
      taken(
        call(() =>
          native.ownerPage(
            { wallet: page.wallet, ...page.filter, page: toPage(page, limits) },
            limits.readTimeoutMs,
          ),
        ),
        page.limit,
      ),
  }
}

const toReader = (native: addon.Reader): Reader => ({
  reads: limits => toReads(native, limits),
  tip: () => call(() => native.tip()) ?? undefined,
  stats: () => call(() => native.stats()),
  poolStats: () => call(() => native.poolStats()),
  openFanout: options => toFanout(call(() => native.openFanout(options))),
  close: () => native.close(),
})

/** Opens the store that an indexer wrote. A process opens each store once. */
export const openReader = (dir: string, store: StoreOptions, pools: PoolOptions): Reader =>
  toReader(call(() => new addon.Reader(dir, store, pools)))

export type Applied = {
  /** False where no block was newer than the tip. */
  readonly isNew: boolean
  /** From the call to the commit, without the way over the native boundary. */
  readonly micros: number
}

/** The one writer of a store. */
export type Indexer = Corrections &
  StoreCopy & {
    tip(): Tip | undefined
    /** Applies one block, durably. Throws NativeError `notNextBlock` where it does not continue the chain. */
    applyBlock(block: BlockData): Applied
    /** Applies consecutive blocks in one durable commit, all or none, as a feed does that is behind. Throws the same. */
    applyBlocks(blocks: BlockData[]): Applied
    /** Differences between the indexes and a recomputation of them, as sentences; none is well. */
    check(): readonly string[]
    /** Reads of the same store in this process, which must not open it twice. */
    openReader(pools: PoolOptions): Reader
    startFeed(options: FeedOptions, onEvent: (event: FeedEvent) => void): void
    stopFeed(): void
    clearStaleReaders(): number
    /** Number of the last commit. */
    lastCommit(): number
    /** Reads of the store that are open now, in whatever process. */
    openReads(): readonly OpenRead[]
    stats(): StoreStats
    close(): void
  }

/** A writer that the addon made. */
export const toIndexer = (native: addon.Indexer): Indexer => {
  return {
    ...toCorrections(native),
    ...toStoreCopy(native),
    tip: () => call(() => native.tip()) ?? undefined,
    applyBlock: block => call(() => native.applyBlock(block)),
    applyBlocks: blocks => call(() => native.applyBlocks(blocks)),
    check: () => call(() => native.check()),
    openReader: pools => toReader(call(() => native.openReader(pools))),
    startFeed: (options, onEvent) => call(() => native.startFeed(options, onEvent)),
    stopFeed: () => call(() => native.stopFeed()),
    clearStaleReaders: () => call(() => native.clearStaleReaders()),
    lastCommit: () => call(() => native.lastCommit()),
    openReads: () => call(() => native.openReads()),
    stats: () => call(() => native.stats()),
    close: () => call(() => native.close()),
  }
}

/** Opens a store for writing and makes it where there is none. The caller holds its lock file. */
export const openIndexer = (dir: string, store: StoreOptions): Indexer =>
  toIndexer(call(() => new addon.Indexer(dir, store)))

/** Decodes a base58 address. Throws `pubkeyDecode` or `pubkeySize`. */
export const decodePubkey = (text: string): Uint8Array => call(() => addon.decodePubkey(text))

/** Decodes base58 addresses, 32 bytes each. Throws for the first that is none. */
export const decodePubkeys = (texts: string[]): Uint8Array => call(() => addon.decodePubkeys(texts))

/** Writes 32 bytes as base58. */
export const encodePubkey = (pubkey: Uint8Array): string => call(() => addon.encodePubkey(pubkey))

/** Decodes `memcmp.bytes`. Throws `memcmpBytes`. */
export const decodeMemcmp = (text: string, encoding: 'base58' | 'base64'): Uint8Array =>
  call(() => addon.decodeMemcmp(text, encoding))

/** Ends this process with its parent; false where the parent has ended already. */
export const dieWithParent = (parentPid: number): boolean =>
  call(() => addon.dieWithParent(parentPid))

/**
 * Asks for turns of at most so many microseconds of the processor for this thread, so that it need not wait for the
 * long turn of another when it wakes up; 0 is the system's own length. Linux before 6.12 accepts it and changes nothing.
 */
export const setSlice = (micros: number): void => call(() => addon.setSlice(micros))

/**
 * Has this thread run before every ordinary one of the machine; false where the system does not allow it (root,
 * CAP_SYS_NICE or RLIMIT_RTPRIO). What it starts later is ordinary. Leave the others a processor of their own.
 */
export const setRealtime = (): boolean => call(() => addon.setRealtime())

/** Takes `setRealtime` back, and any slice. */
export const setOrdinary = (): void => call(() => addon.setOrdinary())

/**
 * Bounds the bytes that the kernel takes and has not sent for each connection that this process accepts from now on, and
 * says how many sockets listen: a client that does not read shows after so many bytes, and not after some MB.
 */
export const boundUnsent = (bytes: number): number => call(() => addon.boundUnsent(bytes))

/** Takes a lock file for the life of this process; false where another process holds it. */
export const lockFile = (path: string): boolean => call(() => addon.lockFile(path))

/** Maps `count` 8-byte cells that every process which maps the same file sees. */
export const sharedCells = (path: string, count: number): Float64Array =>
  call(() => addon.sharedCells(path, count))

/** What the checks of one route count. Created once per route. */
export type TransactionRules = {
  /**
   * Addresses whose tips are summed together, and what the sum must reach. No address stands in
   * two classes.
   */
  readonly tipClasses: readonly {
    readonly addresses: readonly string[]
    readonly floorLamports: bigint
  }[]
  /** Programs that are no application. */
  readonly exemptPrograms: readonly string[]
}

/** What is known of one transaction. */
export type MemberVerdict = {
  /**
   * Byte range in the body of a batch; in a bundle `start` is 0 and the length that of the decoded
   * bytes.
   */
  readonly start: number
  readonly byteLength: number
  /** `base64`, `size`, or in words why it is no transaction. */
  readonly problem: string | undefined
  /** Base58 of the first signature, where the layout could be read. */
  readonly signature: string | undefined
  /** Whether every signature is right; undefined where that was not looked at. */
  readonly isSigned: boolean | undefined
  /** Lamports for each tip class, in the order of the rules. */
  readonly tips: readonly bigint[]
  /** An instruction of no exempt program that has a writable static account. */
  readonly hasApplication: boolean
  /** Every class gets its floor, and there is an application. */
  readonly qualifies: boolean
}

/** What is known of a request's transactions. */
export type Verdict = {
  readonly members: readonly MemberVerdict[]
  /** The first two, counted from 0, that are equal in their bytes or in what is signed. */
  readonly duplicate: readonly [number, number] | undefined
  /** Where every member has a first signature. */
  readonly bundleId: string | undefined
}

export type VerifyPoolOptions = addon.VerifyPoolOptions

/** The checks of one route. What they promise rejects with the error `checksOverloaded` where too many wait. */
export type TransactionChecks = {
  /**
   * The frames alone, at once: complete records before the fault, and the fault with its record
   * and offset.
   */
  frameBatch(body: Uint8Array): { readonly count: number; readonly problem: string | undefined }
  /**
   * Every complete record, in place: until this settles, `body` must be neither changed, resized
   * nor transferred.
   */
  checkBatch(body: Uint8Array): Promise<Verdict>
  /** Base64 texts as they stand in the request, of at most `bytesMax` bytes each. */
  checkBundle(transactions: readonly string[], bytesMax: number): Promise<Verdict>
  /** The same, all at once but the signatures. */
  beginBundle(transactions: readonly string[], bytesMax: number): BegunBundle
  /** Has a free thread awake when, within a tenth of a millisecond, a bundle is begun. */
  announce(): void
  stats(): { readonly verifyWaiting: number; readonly verifyRunning: number }
}

/** A bundle of which the signatures are still looked at. */
export type BegunBundle = {
  /** Each `isSigned` is undefined. */
  readonly verdict: Verdict
  /**
   * The first member that is not signed as it says, by its index; undefined where all are. Absent where a member is no
   * transaction, or there is a duplicate. Not heard, a rejection harms nothing.
   */
  readonly wrongSignature: Promise<number | undefined> | undefined
}

const toMember = (member: addon.MemberData): MemberVerdict => ({
  start: member.start,
  byteLength: member.byteLength,
  problem: member.problem,
  signature: member.signature,
  isSigned: member.isSigned,
  tips: member.tips,
  hasApplication: member.hasApplication,
  qualifies: member.qualifies,
})

const toVerdict = ({ members, duplicate, bundleId }: addon.VerdictData): Verdict => {
  const [one, other] = duplicate ?? []
  return {
    members: members.map(toMember),
    duplicate: one === undefined || other === undefined ? undefined : [one, other],
    bundleId,
  }
}

const toWholeVerdict = async (task: Promise<addon.VerdictData>): Promise<Verdict> => {
  const data = await task
  if (data.error !== undefined) throw toFailure(data.error, data.detail ?? '')
  return toVerdict(data)
}

const toWrongSignature = (task: Promise<addon.SignedData>): Promise<number | undefined> => {
  const found = task.then(({ wrong, error, detail }) => {
    if (error !== undefined) throw toFailure(error, detail ?? '')
    return wrong
  })
  found.catch(() => {})
  return found
}

/**
 * Makes the checks of one route. The first options of a process make its pool; all its routes
 * share it.
 */
export const createTransactionChecks = (
  rules: TransactionRules,
  pool: VerifyPoolOptions,
): TransactionChecks => {
  const native = call(
    () =>
      new addon.TransactionChecks(
        {
          tipClasses: rules.tipClasses.map(({ addresses, floorLamports }) => ({
            addresses: [...addresses],
            floorLamports,
          })),
          exemptPrograms: [...rules.exemptPrograms],
        },
        pool,
      ),
  )
  return {
    frameBatch: body => {
      const { count, problem } = call(() => native.frameBatch(body))
      return { count, problem }
    },
    checkBatch: body => toWholeVerdict(call(() => native.checkBatch(body))),
    checkBundle: (transactions, bytesMax) =>
      toWholeVerdict(call(() => native.checkBundle([...transactions], bytesMax))),
    announce: () => call(() => native.announce()),
    beginBundle: (transactions, bytesMax) => {
      const { verdict, signed } = call(() => native.beginBundle([...transactions], bytesMax))
      return {
        verdict: toVerdict(verdict),
        wrongSignature: signed === undefined ? undefined : toWrongSignature(signed),
      }
    },
    stats: () => call(() => native.stats()),
  }
}

/**
 * Processor time of the check of a batch on this thread, and of a bare loop over its signatures:
 * for a bench.
 */
export const compareLoops = (body: Uint8Array): addon.LoopTimes =>
  call(() => addon.compareLoops(body))
