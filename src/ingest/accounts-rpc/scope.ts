import { decodePubkey, encodePubkey } from '../../native/encoding.js'
import { unpackRows } from '../../native/rpc-answer.js'
import type { Rpc, RpcCost, TakeRows } from './client.js'
import { RpcReadFailure } from './failure.js'
import type { Options } from './options.js'
import { describePart, type Part, splitByPrefix, splitBySize, toFilters } from './part.js'
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../shared/token-programs.js'

/** The configured scope. */
export type ListedScope = {
  readonly programs: readonly string[]
  readonly mints: readonly string[]
  readonly pubkeys: readonly string[]
}

/** Progress of a read of the scope. */
export type ScopeProgress = RpcCost & { readonly rows: number; readonly what: string }

/** Result of a read of the scope. */
export type ScopeRead = RpcCost & {
  readonly rows: number
  /**
   * Lowest slot of all rows. A base at this slot or, if the slot has no block, before it misses no
   * change.
   */
  readonly lowestSlot: number
  /** Highest slot of all rows. The store is consistent once the tip reaches it. */
  readonly highestSlot: number
}

/** Dependencies of a read of the scope. */
export type ScopeReadParts = {
  readonly scope: ListedScope
  /** First slot that the feed has spooled: older rows are rejected. */
  readonly minContextSlot: number
  /** Consumes rows. An account may repeat: the row of the highest slot counts. */
  readonly push: TakeRows
  readonly onProgress?: (progress: ScopeProgress) => void
  readonly signal: AbortSignal
  readonly now?: () => number
  readonly sleep: (ms: number) => Promise<unknown>
}

/** Address of the Clock sysvar. */
const CLOCK = 'SysvarC1ock11111111111111111111111111111111'
const TOKEN_ACCOUNT_BYTES = 165
/** Offset of a token account's owner, by which a mint's accounts are split. */
const WALLET_AT = 32
const KEY_BYTES = 32
/** Pause between two requests for the slot of a provider that is behind: a slot of mainnet. */
const SLOT_POLL_MS = 200

const keysOf = (packed: Uint8Array): readonly string[] =>
  Array.from({ length: packed.length / KEY_BYTES }, (_, i) =>
    encodePubkey(packed.subarray(i * KEY_BYTES, (i + 1) * KEY_BYTES)),
  )

class ScopeReader {
  private readonly rpc: Rpc
  private readonly options: Options
  private readonly parts: ScopeReadParts
  private rows = 0
  private lowestSlot = Infinity
  private highestSlot = 0
  private what = ''

  constructor(rpc: Rpc, options: Options, parts: ScopeReadParts) {
    this.rpc = rpc
    this.options = options
    this.parts = parts
  }

  async read(): Promise<ScopeRead> {
    const { programs, mints, pubkeys } = this.parts.scope
    const listed = new Set([CLOCK, ...mints, ...pubkeys])
    const found = await this.readKeys([...listed])
    // Without their mints, token accounts have no decimals.
    await this.readKeys(found.mints.filter(mint => !listed.has(mint)))
    for (const program of new Set(programs))
      await this.readPart(wholeProgram(program, this.options))
    for (const mint of new Set(mints))
      for (const part of wholeMint(mint, found.programs.get(mint))) await this.readPart(part)
    const { rows, lowestSlot, highestSlot } = this
    return { rows, lowestSlot, highestSlot, ...this.rpc.cost() }
  }

  /**
   * Reads single accounts. Returns the mints of token accounts among them, and the program of each
   * mint.
   */
  private async readKeys(keys: readonly string[]) {
    const mints = new Set<string>()
    const programs = new Map<string, string>()
    const { keysPerCallMax } = this.options
    for (let at = 0; at < keys.length; at += keysPerCallMax) {
      const some = keys.slice(at, at + keysPerCallMax)
      const what = `${some.length} accounts`
      const wanted = { kind: 'positional', keys: Buffer.concat(some.map(decodePubkey)) } as const
      const params = [some, this.config()]
      const question = { method: 'getMultipleAccounts', params, what, wanted }
      const end = await this.rpc.ask(question, this.taker(what))
      for (const mint of keysOf(end.mints)) mints.add(mint)
      for (const { mint, program } of end.programs)
        programs.set(encodePubkey(mint), encodePubkey(program))
    }
    return { mints: [...mints], programs }
  }

  /** Reads a part; splits it if the provider refuses. */
  private async readPart(part: Part): Promise<void> {
    try {
      await (this.options.isPaged ? this.readPages(part) : this.readWhole(part))
    } catch (error) {
      if (!(error instanceof RpcReadFailure) || !error.isSplittable) throw error
      const parts = await this.split(part)
      if (parts === undefined)
        throw new RpcReadFailure(
          'refused',
          `${error.message}; it cannot be split further: raise networks.accountsRpc.splitPrefixBytesMax, ` +
            'change splitOffset, or name another provider in networks.accountsRpc.endpoint',
        )
      for (const smaller of parts) await this.readPart(smaller)
    }
  }

  private async split(part: Part): Promise<readonly Part[] | undefined> {
    if (part.dataSize === undefined && part.prefix.length === 0) {
      const sizes = await this.listSizes(part)
      if (sizes.length > 0) return splitBySize(part, sizes)
    }
    return splitByPrefix(part, this.options.splitPrefixBytesMax)
  }

  /** Lengths of a part's accounts; none if the provider refuses or there are too many. */
  private async listSizes(part: Part): Promise<readonly number[]> {
    const config = { ...this.config(), encoding: 'base64', dataSlice: { offset: 0, length: 0 } }
    const what = `the lengths of ${describePart(part)}`
    const params = [part.program, { ...config, filters: toFilters(part) }]
    const wanted = { kind: 'sizes' } as const
    try {
      const { sizes } = await this.rpc.ask(
        { method: 'getProgramAccounts', params, what, wanted },
        () => undefined,
      )
      return sizes.map(({ bytes }) => bytes)
    } catch (error) {
      this.parts.signal.throwIfAborted()
      if (error instanceof RpcReadFailure) return []
      throw error
    }
  }

  private async readWhole(part: Part): Promise<void> {
    const what = describePart(part)
    const params = [part.program, { ...this.config(), withContext: true, filters: toFilters(part) }]
    const wanted = { kind: 'listed' } as const
    const question = { method: 'getProgramAccounts', params, what, wanted }
    await this.rpc.ask(question, this.taker(what))
    this.report(what)
  }

  /** Reads pages. Rows of a page without a slot get a lower bound of their slot. */
  private async readPages(part: Part): Promise<void> {
    const { pageRowsMax: limit, slackSlots } = this.options
    const what = describePart(part)
    const reached = await this.reachSlot(this.parts.minContextSlot + slackSlots)
    const wanted = { kind: 'listed', slot: reached - slackSlots } as const
    for (let paginationKey: string | undefined; ;) {
      const filters = toFilters(part)
      const config = { ...this.config(), withContext: true, limit, filters }
      const page = paginationKey === undefined ? config : { ...config, paginationKey }
      const params = [part.program, page]
      const question = { method: 'getProgramAccountsV2', params, what, wanted }
      const end = await this.rpc.ask(question, this.taker(what))
      this.report(what)
      if (end.paginationKey === undefined) break
      if (end.paginationKey === paginationKey)
        throw new RpcReadFailure('refused', `${question.method} for ${what}: the pages do not end`)
      paginationKey = end.paginationKey
    }
    this.highestSlot = Math.max(this.highestSlot, (await this.rpc.slot()) + slackSlots)
  }

  private async reachSlot(wanted: number): Promise<number> {
    const { reachSlotMs } = this.options
    const now = this.parts.now ?? Date.now
    for (const begunMs = now(); ;) {
      const slot = await this.rpc.slot()
      if (slot >= wanted) return slot
      if (now() - begunMs > reachSlotMs)
        throw new RpcReadFailure(
          'passing',
          `the upstream is at slot ${slot} and did not reach ${wanted} within ${reachSlotMs} ms`,
        )
      await this.parts.sleep(SLOT_POLL_MS)
    }
  }

  private config() {
    const { minContextSlot } = this.parts
    return { encoding: this.options.encoding, commitment: 'confirmed', minContextSlot }
  }

  /** Records the slot of rows and passes them on. All rows of one answer have one slot. */
  private taker(what: string): TakeRows {
    const { minContextSlot, push } = this.parts
    return async packed => {
      let count = 0
      for (const { slot } of unpackRows(packed)) {
        if (slot < minContextSlot)
          throw new RpcReadFailure(
            'passing',
            `${what}: the answer is of slot ${slot}, before slot ${minContextSlot} of the feed: ` +
              'the provider ignores minContextSlot',
          )
        if (count++ === 0) {
          this.lowestSlot = Math.min(this.lowestSlot, slot)
          this.highestSlot = Math.max(this.highestSlot, slot)
        }
      }
      await push(packed)
      this.rows += count
      this.report(what)
    }
  }

  private report(what: string): void {
    this.what = what
    this.parts.onProgress?.({ rows: this.rows, what: this.what, ...this.rpc.cost() })
  }
}

const wholeProgram = (program: string, { splitOffset }: Options): Part => ({
  program,
  what: `program ${program}`,
  fixed: [],
  shortestBytes: 0,
  dataSize: undefined,
  offset: program === TOKEN_PROGRAM || program === TOKEN_2022_PROGRAM ? 0 : splitOffset,
  prefix: [],
})

/**
 * Token accounts of a mint: of its program, or of both token programs if the mint does not exist.
 */
const wholeMint = (mint: string, program: string | undefined): readonly Part[] =>
  (program === undefined ? [TOKEN_PROGRAM, TOKEN_2022_PROGRAM] : [program]).map(owner => ({
    program: owner,
    what: `mint ${mint}`,
    fixed: [{ memcmp: { offset: 0, bytes: mint } }],
    shortestBytes: TOKEN_ACCOUNT_BYTES,
    dataSize: owner === TOKEN_PROGRAM ? TOKEN_ACCOUNT_BYTES : undefined,
    offset: WALLET_AT,
    prefix: [],
  }))

/**
 * Reads every account of a scope from an upstream RPC, each as of its own slot, and passes it to
 * `push`. Rejects with an RpcReadFailure, with what `push` throws, or with the signal's reason.
 */
export const readScope = (rpc: Rpc, options: Options, parts: ScopeReadParts): Promise<ScopeRead> =>
  new ScopeReader(rpc, options, parts).read()
