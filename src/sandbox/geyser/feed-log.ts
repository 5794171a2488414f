import { fromMapKey, toMapKey } from '../solana/addresses.js'
import type { AccountUpdate, Block, Commitment, TransactionRecord } from '../chain/block.js'
import type { Chain } from '../chain/chain.js'
import { GeyserFaults, type Hidden } from './faults.js'
import {
  encodeAccount,
  encodeBlockMeta,
  encodeSlot,
  encodeTransaction,
  encodeTransactionStatus,
  type SlotStatus,
} from './messages.js'
import { COMMITMENT, type CommitmentNumber } from './request.js'

/** Bounds of what can be replayed. */
export const defaults = {
  /** An hour of slots of 400 ms: who connects within it can still read the genesis. */
  replaySlotsMax: 9_000,
  /** Memory of the replay; the oldest slots go first. */
  replayBytesMax: 256 * 1024 * 1024,
}
export type LogOptions = typeof defaults

/**
 * One update, encoded once; `body` lacks only the labels. Beside it stands what filters look at,
 * and no more: an hour of a busy chain is held in memory. Addresses are map keys.
 */
export type Entry =
  | {
      readonly kind: 'account'
      readonly pubkey: string
      readonly owner: string
      readonly lamports: bigint
      readonly hasSignature: boolean
      readonly dataAt: number
      readonly dataByteCount: number
      readonly body: Buffer
    }
  | {
      readonly kind: 'transaction' | 'transactionStatus'
      readonly signature: string
      readonly isFailed: boolean
      /** Every key, loaded ones included, one after the other. */
      readonly keys: string
      readonly body: Buffer
    }
  | { readonly kind: 'blockMeta'; readonly body: Buffer }
  | {
      readonly kind: 'block'
      readonly block: Block
      readonly accounts: readonly { readonly body: Buffer }[]
      readonly atMs: number
    }
  | { readonly kind: 'slot'; readonly status: SlotStatus; readonly body: Buffer }

/** What an entry takes beside its body, about: the bound of the replay counts it. */
const ENTRY_BYTES = 512

/** What one commitment level hears from the start of one slot to the start of the next. */
export type Segment = {
  /** The slot whose data it holds: at finalized an older one than the slot in which it is said. */
  readonly slot: number
  readonly entries: Entry[]
  /** Bytes of the level before this segment, so that a reader's lag is a subtraction. */
  readonly bytesBefore: number
  hidden: Hidden | undefined
}

/**
 * The updates of one commitment level. Positions count segments from the very first, and survive
 * the removal of old ones.
 */
export type Level = {
  readonly segments: Segment[]
  firstPosition: number
  byteCount: number
}

/** A slot's data as every level needs it. */
type SlotData = {
  readonly slot: number
  readonly accounts: Map<string, Entry>
  readonly transactions: Entry[]
  byteCount: number
  /** As it is said, which may be a lie. */
  block: Block | undefined
}

/** Where a replay from a slot begins; `undefined` where that slot is gone. */
export type ReplayStart = { readonly position: number } | { readonly oldestSlot: number }

/** An account as a fork would have left it. */
const toForged = (entry: Entry & { kind: 'account' }, slot: number, nowMs: number): Entry => {
  const update = {
    pubkey: fromMapKey(entry.pubkey),
    lamports: entry.lamports + 1n,
    owner: fromMapKey(entry.owner),
    executable: false,
    rentEpoch: 0n,
    data: new Uint8Array(entry.dataByteCount),
    slot,
    writeVersion: Number.MAX_SAFE_INTEGER,
    signature: undefined,
  }
  return { ...entry, lamports: update.lamports, ...encodeAccount(update, nowMs) }
}

const createLevel = (): Level => ({ segments: [], firstPosition: 0, byteCount: 0 })

/**
 * Everything that the feed said, in order, for each commitment level. Processed: as it happens,
 * every write. Confirmed and finalized: a slot whole when it gets there, the last write of each
 * account, then transactions, then block meta, then the status.
 */
export class GeyserLog {
  readonly levels: readonly [Level, Level, Level] = [createLevel(), createLevel(), createLevel()]
  readonly faults = new GeyserFaults()
  private readonly options: LogOptions
  private readonly now: () => number
  private readonly chain: Chain
  /** Slots that are not final yet, and those that can still be replayed. */
  private readonly slots: SlotData[] = []
  private byteCount = 0
  private appended: () => void = () => {}

  constructor(chain: Chain, options: LogOptions, now: () => number) {
    this.chain = chain
    this.options = options
    this.now = now
    chain.on('slotStarted', (slot, parentSlot) => this.startSlot(slot, parentSlot))
    chain.on('account', account => this.addAccount(account))
    chain.on('transaction', record => this.addTransaction(record))
    chain.on('block', block => this.addMeta(block))
    chain.on('status', (slot, parentSlot, status) => this.addStatus(slot, parentSlot, status))
  }

  /** One listener: called after anything was appended. */
  onAppended(listener: () => void): void {
    this.appended = listener
  }

  /** The segment that is being said now. */
  headOf(level: CommitmentNumber): { position: number; entryIndex: number; byteCount: number } {
    const { firstPosition, segments, byteCount } = this.levels[level]
    return {
      position: firstPosition + Math.max(segments.length - 1, 0),
      entryIndex: segments.at(-1)?.entries.length ?? 0,
      byteCount,
    }
  }

  /** The oldest slot that can be replayed. */
  get oldestSlot(): number {
    return Math.max(this.firstHeldSlot, this.faults.replayFloor)
  }

  private get firstHeldSlot(): number {
    return this.slots[0]?.slot ?? this.chain.slot
  }

  /**
   * Where to read from to hear `slot` and everything after it. Where the level is not there yet,
   * that is with whatever it says next.
   */
  replayFrom(level: CommitmentNumber, slot: number): ReplayStart {
    if (slot < this.oldestSlot) return { oldestSlot: this.oldestSlot }
    const { segments, firstPosition } = this.levels[level]
    const index = segments.findIndex(segment => segment.slot >= slot)
    return { position: firstPosition + (index < 0 ? segments.length : index) }
  }

  /** Test fault: nothing is said of a slot, be it open or still to come. */
  omit(slot: number, hidden: Hidden): void {
    this.faults.omitted.set(slot, hidden)
    for (const level of this.levels)
      for (const segment of level.segments) if (segment.slot === slot) segment.hidden = hidden
  }

  private startSlot(slot: number, parentSlot: number): void {
    this.slots.push({
      slot,
      accounts: new Map(),
      transactions: [],
      byteCount: 0,
      block: undefined,
    })
    const { finalizedAfterSlots } = this.chain.options
    const dataSlots = [slot, slot, slot - finalizedAfterSlots]
    this.levels.forEach((level, index) => {
      const dataSlot = dataSlots[index] ?? slot
      level.segments.push({
        slot: dataSlot,
        entries: [],
        bytesBefore: level.byteCount,
        hidden: this.faults.omitted.get(dataSlot),
      })
    })
    this.evict()
    this.sayStatus(slot, parentSlot, 'firstShredReceived')
    this.sayStatus(slot, parentSlot, 'createdBank')
  }

  private addAccount(update: AccountUpdate): void {
    const pubkey = toMapKey(update.pubkey)
    const entry: Entry = {
      kind: 'account',
      pubkey,
      owner: toMapKey(update.owner),
      lamports: update.lamports,
      hasSignature: update.signature !== undefined,
      dataByteCount: update.data.length,
      ...encodeAccount(update, this.now()),
    }
    const slot = this.openSlot()
    // Deleted first, so that the map keeps the order of the last writes.
    slot.accounts.delete(pubkey)
    slot.accounts.set(pubkey, entry)
    this.append(COMMITMENT.processed, entry)
    this.appended()
  }

  private addTransaction(record: TransactionRecord): void {
    const nowMs = this.now()
    const slot = this.openSlot()
    const { transaction, loadedWritable, loadedReadonly } = record
    const seen = {
      signature: toMapKey(record.signature),
      isFailed: record.error !== undefined,
      keys: [...transaction.keys, ...loadedWritable, ...loadedReadonly].map(toMapKey).join(''),
    }
    for (const entry of [
      { kind: 'transaction', ...seen, body: encodeTransaction(record, nowMs) },
      { kind: 'transactionStatus', ...seen, body: encodeTransactionStatus(record, nowMs) },
    ] as const) {
      slot.transactions.push(entry)
      this.append(COMMITMENT.processed, entry)
    }
    this.appended()
  }

  private addMeta(block: Block): void {
    const said = this.faults.forgedParents.has(block.slot)
      ? { ...block, parentBlockhash: block.blockhash }
      : block
    const slot = this.openSlot()
    slot.block = said
    for (const entry of this.blockEntries(said, [...slot.accounts.values()]))
      this.append(COMMITMENT.processed, entry)
    this.sayStatus(block.slot, block.parentSlot, 'completed')
  }

  private addStatus(slot: number, parentSlot: number, status: Commitment): void {
    if (status === 'confirmed') {
      this.confirm(slot, parentSlot)
      return
    }
    if (status !== 'processed') {
      const data = this.slots[slot - this.firstHeldSlot]
      if (data !== undefined) this.appendSlot(COMMITMENT[status], data)
      if (data !== undefined && status === 'finalized') {
        // Said at every level: from now on the segments alone hold it.
        data.accounts.clear()
        data.transactions.length = 0
      }
    }
    this.sayStatus(slot, parentSlot, status)
    this.appended()
  }

  /** Says a slot at confirmed, with whatever is to be wrong about it. */
  private confirm(slot: number, parentSlot: number): void {
    const data = this.slots[slot - this.firstHeldSlot]
    const { faults } = this
    for (const held of faults.order({ slot, parentSlot })) {
      const slotData = this.slots[held.slot - this.firstHeldSlot]
      for (let said = 0; said <= faults.repeatsOf(held.slot); said++) {
        if (slotData !== undefined) this.appendSlot(COMMITMENT.confirmed, slotData)
        this.sayStatus(held.slot, held.parentSlot, 'confirmed')
      }
    }
    if (data?.block !== undefined && faults.isForked(slot)) this.sayFork(data.block)
    this.appended()
  }

  /**
   * Two blocks that never come to be, in slots that do: one is called dead, the other built anew.
   */
  private sayFork(parent: Block): void {
    const level = COMMITMENT.confirmed
    const { accounts } = this.slots[parent.slot - this.firstHeldSlot] ?? {}
    for (const [distance, isDead] of [
      [2, true],
      [3, false],
    ] as const) {
      const slot = parent.slot + distance
      const { blockhash, slot: parentSlot } = parent
      const fork: Block = {
        ...parent,
        slot,
        parentSlot,
        parentBlockhash: blockhash,
        blockhash: this.chain.blockhashOf(parent.slot + 1_000 * distance),
      }
      const forged = [...(accounts?.values() ?? [])].flatMap(entry =>
        entry.kind === 'account' ? [toForged(entry, slot, this.now())] : [],
      )
      for (const entry of [...forged, ...this.blockEntries(fork, forged)]) this.append(level, entry)
      if (isDead) this.sayStatus(slot, parentSlot, 'dead')
    }
  }

  private appendSlot(level: CommitmentNumber, { accounts, transactions, block }: SlotData): void {
    for (const entry of accounts.values()) this.append(level, entry)
    for (const entry of transactions) this.append(level, entry)
    if (block !== undefined)
      for (const entry of this.blockEntries(block, [...accounts.values()]))
        this.append(level, entry)
  }

  private blockEntries(block: Block, entries: readonly Entry[]): Entry[] {
    const atMs = this.now()
    const accounts = entries.flatMap(entry => (entry.kind === 'account' ? [entry] : []))
    return [
      { kind: 'block', block, accounts, atMs },
      { kind: 'blockMeta', body: encodeBlockMeta(block, atMs) },
    ]
  }

  private sayStatus(slot: number, parentSlot: number, status: SlotStatus): void {
    const body = encodeSlot(slot, parentSlot, status, this.now())
    for (const level of [0, 1, 2] as const) this.append(level, { kind: 'slot', status, body })
  }

  private append(index: CommitmentNumber, entry: Entry): void {
    const level = this.levels[index]
    level.segments.at(-1)?.entries.push(entry)
    const bodyByteCount = entry.kind === 'block' ? 0 : entry.body.length
    level.byteCount += bodyByteCount
    if (index !== COMMITMENT.processed) return
    const heldByteCount = bodyByteCount + ENTRY_BYTES
    this.openSlot().byteCount += heldByteCount
    this.byteCount += heldByteCount
  }

  private openSlot(): SlotData {
    const slot = this.slots.at(-1)
    if (slot === undefined) throw new Error('the chain wrote before its first slot')
    return slot
  }

  /** Drops the oldest slots over the bounds, but none that is not final yet. */
  private evict(): void {
    const { replaySlotsMax, replayBytesMax } = this.options
    const keepMin = this.chain.options.finalizedAfterSlots + 1
    while (
      this.slots.length > keepMin &&
      (this.slots.length > replaySlotsMax || this.byteCount > replayBytesMax)
    ) {
      this.byteCount -= this.slots.shift()?.byteCount ?? 0
      for (const level of this.levels) {
        level.segments.shift()
        level.firstPosition++
      }
    }
  }
}
