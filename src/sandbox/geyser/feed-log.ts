import { randomInt } from 'node:crypto'
import type { AccountUpdate, Block, Commitment, TransactionRecord } from '../chain/block.js'
import type { Chain } from '../chain/chain.js'
import {
  bytesOf,
  createLevel,
  type FeedEntry,
  keptBytesOf,
  type Level,
  pack,
  toAccountEntry,
  toBlockEntries,
  toTransactionEntries,
  withBank,
} from './feed-entry.js'
import { beginsWithLost, orderBanks, type BankEntries } from './bank-faults.js'
import { createForks, createOrphan, type Fork } from './forks.js'
import { encodeSlot, type SlotStatus } from './messages.js'
import { COMMITMENT, type CommitmentNumber } from './request.js'
import { createSlotData, decisionsOf, release, type SlotData } from './slot-data.js'
import { type BankFault, type Confirmed, type Hidden, SlotFaults } from './slot-faults.js'

/** Bounds of the replay. */
export const defaults = {
  /** An hour of slots of 200 ms, where the bytes do not end first. */
  replaySlotsMax: 18_000,
  /** Memory of the replay, a quarter of an hour of idle blocks; the oldest slots go first. */
  replayBytesMax: 256 * 1024 * 1024,
  /** Whether updates name their bank: a server of Agave 4.3 and later does. */
  hasBanks: true,
}
export type LogOptions = typeof defaults

const ALL_LEVELS: readonly CommitmentNumber[] = [0, 1, 2]
/** All but confirmed. */
const OTHER_LEVELS: readonly CommitmentNumber[] = [0, 2]

/** Slots to one whose hash a lost bank has; no chain of the sandbox gets so far. */
export const LOST_OFFSET = 2_000_000_000

/** Estimated memory of an entry without its body. */
const ENTRY_BYTES = 512

/** The position where a replay starts, or the oldest slot where the requested one was evicted. */
export type ReplayStart = { readonly position: number } | { readonly oldestSlot: number }

/**
 * All updates of the feed in order, per commitment level. Processed has every write immediately.
 * Confirmed and finalized have a whole slot at once: the last write of each account, transactions,
 * entries, the footer, the block, then the status.
 */
export class FeedLog {
  readonly levels: readonly [Level, Level, Level] = [createLevel(), createLevel(), createLevel()]
  readonly faults = new SlotFaults()
  private readonly options: LogOptions
  private readonly now: () => number
  private readonly chain: Chain
  /** Slots that are not final yet or can still be replayed. */
  private readonly slots: SlotData[] = []
  private byteCount = 0
  /** Each validator counts its own banks: those of two servers have nothing in common. */
  private lastBank = randomInt(2 ** 32)
  private readonly lostBanks = new Map<number, number>()
  private notifyAppended: () => void = () => {}

  constructor(chain: Chain, options: LogOptions, now: () => number) {
    this.chain = chain
    this.options = options
    this.now = now
    chain.on('slotStarted', (slot, parentSlot) => this.startSlot(slot, parentSlot))
    chain.on('bankCreated', (slot, parentSlot) => this.createdBank(slot, parentSlot))
    chain.on('account', account => this.addAccount(account))
    chain.on('transaction', record => this.addTransaction(record))
    chain.on('block', block => this.addBlock(block))
    chain.on('status', (slot, parentSlot, status) => this.addStatus(slot, parentSlot, status))
  }

  /** Sets the one listener, which is called after each append. */
  onAppended(listener: () => void): void {
    this.notifyAppended = listener
  }

  /** The end of a level. */
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
    return Math.max(this.firstKeptSlot, this.faults.replayFloor)
  }

  private get firstKeptSlot(): number {
    return this.slots[0]?.slot ?? this.chain.slot
  }

  /** Where to start reading to receive `slot` and all later slots. */
  replayFrom(level: CommitmentNumber, slot: number): ReplayStart {
    if (slot < this.oldestSlot) return { oldestSlot: this.oldestSlot }
    const { segments, firstPosition } = this.levels[level]
    const index = segments.findIndex(segment => segment.slot >= slot)
    return { position: firstPosition + (index < 0 ? segments.length : index) }
  }

  /** Fault: hides an open or future slot. */
  omit(slot: number, hidden: Hidden): void {
    this.faults.omitted.set(slot, hidden)
    for (const level of this.levels)
      for (const segment of level.segments) if (segment.slot === slot) segment.hidden = hidden
  }

  private startSlot(slot: number, parentSlot: number): void {
    const bank = this.createBank()
    this.slots.push(createSlotData(slot, bank))
    const { finalizedAfterSlots, firstSlot } = this.chain.options
    const dataSlots = [slot, slot, Math.max(slot - finalizedAfterSlots, firstSlot)]
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
    this.appendStatus(slot, parentSlot, 'firstShredReceived')
  }

  private createdBank(slot: number, parentSlot: number): void {
    const fault = this.faults.banks.get(slot)
    if (fault === 'early') return
    const first = beginsWithLost(fault) ? this.lostBankOf(slot) : this.openSlot().bank
    this.appendStatus(slot, parentSlot, 'createdBank', first)
  }

  private addAccount(update: AccountUpdate): void {
    const { accounts, bank } = this.openSlot()
    const entry = pack(this.withBank(toAccountEntry(update, this.now()), bank))
    // Deleted first, so that the map stays ordered by last write.
    accounts.delete(entry.pubkey)
    accounts.set(entry.pubkey, entry)
    this.append(COMMITMENT.processed, entry)
    this.notifyAppended()
  }

  private addTransaction(record: TransactionRecord): void {
    const { transactions, bank } = this.openSlot()
    for (const unnumbered of toTransactionEntries(record, this.now())) {
      const entry = this.withBank(unnumbered, bank)
      transactions.push(entry)
      this.append(COMMITMENT.processed, entry)
    }
    this.notifyAppended()
  }

  private addBlock(closed: Block): void {
    const block = this.faults.forgedParents.has(closed.slot)
      ? { ...closed, parentBlockhash: closed.blockhash }
      : closed
    const slot = this.openSlot()
    slot.block = block
    this.appendBlock(COMMITMENT.processed, { ...slot, block })
    this.appendStatus(block.slot, block.parentSlot, 'completed')
  }

  private addStatus(slot: number, parentSlot: number, status: Commitment): void {
    if (status === 'confirmed') return this.confirm(slot, parentSlot)
    if (status === 'finalized') this.finalize(slot, parentSlot)
    else this.appendStatus(slot, parentSlot, status, this.dataOf(slot)?.bank)
    this.notifyAppended()
  }

  private finalize(slot: number, parentSlot: number): void {
    const fault = this.faultOf(slot, parentSlot)
    // With its confirmation, otherwise.
    if (!this.chain.isAlpenglow || fault !== undefined)
      this.appendFinal({ slot, parentSlot }, fault === 'undecided' ? OTHER_LEVELS : ALL_LEVELS)
    // Every level has sent this one: only the segments need its entries now. A slot of one event
    // may be swapped with its successor, which comes next.
    release(this.dataOf(this.chain.isAlpenglow ? parentSlot : slot))
  }

  /** Sends a slot at finalized, and that it is final at these levels. */
  private appendFinal({ slot, parentSlot }: Confirmed, levels = ALL_LEVELS): void {
    const data = this.dataOf(slot)
    if (data !== undefined) this.appendSlot(COMMITMENT.finalized, data)
    this.appendStatus(slot, parentSlot, 'finalized', data?.bank, levels)
  }

  /** Sends that a slot is confirmed; where that makes it final too, both. */
  private appendDecisions(decided: Confirmed): void {
    const { slot, parentSlot } = decided
    for (const status of this.chain.isAlpenglow ? decisionsOf(slot) : (['confirmed'] as const))
      if (status === 'finalized') this.appendFinal(decided)
      else this.appendStatus(slot, parentSlot, status, this.dataOf(slot)?.bank)
  }

  /** The fault of a slot's banks. What a skipped slot wrote is sent with the next block. */
  private faultOf(slot: number, parentSlot: number): BankFault | undefined {
    return this.faults.banks.get(Math.min(slot, parentSlot + 1))
  }

  /** Sends a slot at confirmed, with the faults of that slot. */
  private confirm(slot: number, parentSlot: number): void {
    const { faults } = this
    const fault = this.faultOf(slot, parentSlot)
    if (fault !== undefined) {
      this.appendBanks(slot, parentSlot, fault)
      return this.notifyAppended()
    }
    for (const next of faults.order({ slot, parentSlot })) {
      const data = this.dataOf(next.slot)
      for (let count = 0; count <= faults.repeatsOf(next.slot); count++) {
        if (data !== undefined) this.appendSlot(COMMITMENT.confirmed, data)
        this.appendDecisions(next)
      }
    }
    if (faults.isForked(slot)) this.appendForks(slot)
    if (faults.orphaned.has(slot)) this.appendOrphan(slot)
    this.notifyAppended()
  }

  /** Sends a slot at confirmed with a second bank. */
  private appendBanks(slot: number, parentSlot: number, fault: BankFault): void {
    const parent = this.dataOf(parentSlot)?.block
    const data = this.dataOf(slot)
    if (parent === undefined || data?.block === undefined) return
    const now = this.now()
    const statusOf =
      (ofSlot: number, bank: number) =>
      (status: SlotStatus): FeedEntry =>
        this.toStatus(ofSlot, parentSlot, status, bank)
    const taken: BankEntries = {
      writes: [...data.accounts.values(), ...data.transactions],
      block: toBlockEntries(data.block, [...data.accounts.values()], now).map(entry =>
        this.withBank(entry, data.bank),
      ),
      status: statusOf(slot, data.bank),
    }
    const blockhash = this.chain.blockhashOf(parent.slot + 1 + LOST_OFFSET)
    const orphan = createOrphan(parent, [...data.accounts.values()], blockhash, now)
    const bank = this.lostBankOf(slot)
    const entries = orphan.entries.map(entry => this.withBank(entry, bank))
    const lost: BankEntries = {
      writes: entries.filter(({ kind }) => kind !== 'block' && kind !== 'blockMeta'),
      block: entries.filter(({ kind }) => kind === 'block' || kind === 'blockMeta'),
      status: statusOf(orphan.slot, bank),
    }
    for (const entry of orderBanks(fault, taken, lost)) this.append(COMMITMENT.confirmed, entry)
    this.appendStatus(slot, parentSlot, 'confirmed', data.bank, OTHER_LEVELS)
  }

  private toStatus(
    slot: number,
    parentSlot: number,
    status: SlotStatus,
    bank: number | undefined,
  ): FeedEntry {
    const body = encodeSlot(slot, parentSlot, status, this.now())
    const entry: FeedEntry = { kind: 'slot', status, body }
    // A server does not say which bank has failed.
    return bank === undefined || status === 'dead' ? entry : this.withBank(entry, bank)
  }

  private withBank<E extends FeedEntry>(entry: E, bank: number): E {
    return this.options.hasBanks ? withBank(entry, bank) : entry
  }

  private createBank(): number {
    return ++this.lastBank
  }

  /** The second bank of a slot. */
  private lostBankOf(slot: number): number {
    const known = this.lostBanks.get(slot)
    if (known !== undefined) return known
    const bank = this.createBank()
    this.lostBanks.set(slot, bank)
    return bank
  }

  private appendForks(parentSlot: number): void {
    const { block, accounts } = this.dataOf(parentSlot) ?? {}
    if (block === undefined || accounts === undefined) return
    const blockhashOf = (slot: number): string => this.chain.blockhashOf(slot)
    for (const fork of createForks(block, [...accounts.values()], blockhashOf, this.now())) {
      this.appendFork(fork, this.createBank())
      if (fork.isDead) this.appendStatus(fork.slot, fork.parentSlot, 'dead')
    }
  }

  private appendOrphan(parentSlot: number): void {
    const { block, accounts } = this.dataOf(parentSlot) ?? {}
    if (block === undefined || accounts === undefined) return
    const blockhash = this.faults.orphaned.get(parentSlot) ?? ''
    const orphan = createOrphan(block, [...accounts.values()], blockhash, this.now())
    const bank = this.createBank()
    this.appendFork(orphan, bank)
    this.appendStatus(orphan.slot, orphan.parentSlot, 'confirmed', bank)
  }

  private appendFork({ entries }: Fork, bank: number): void {
    for (const entry of entries) this.append(COMMITMENT.confirmed, this.withBank(entry, bank))
  }

  private appendSlot(level: CommitmentNumber, data: SlotData): void {
    for (const entry of data.accounts.values()) this.append(level, entry)
    for (const entry of data.transactions) this.append(level, entry)
    this.appendBlock(level, data)
  }

  private appendBlock(
    level: CommitmentNumber,
    { block, bank, accounts }: Pick<SlotData, 'block' | 'bank' | 'accounts'>,
  ): void {
    if (block === undefined) return
    const isShortened = this.faults.shortened.has(block.slot)
    for (const entry of toBlockEntries(block, [...accounts.values()], this.now(), isShortened))
      // Blocks of TowerBFT have no footer.
      if (entry.kind !== 'blockFooter' || this.chain.isAlpenglow)
        this.append(level, this.withBank(entry, bank))
  }

  /** `bank` is absent for a status of the slot as a whole. */
  private appendStatus(
    slot: number,
    parentSlot: number,
    status: SlotStatus,
    bank?: number,
    levels = ALL_LEVELS,
  ): void {
    const entry = this.toStatus(slot, parentSlot, status, bank)
    for (const level of levels) this.append(level, entry)
  }

  private append(index: CommitmentNumber, entry: FeedEntry): void {
    const level = this.levels[index]
    level.segments.at(-1)?.entries.push(entry)
    level.byteCount += bytesOf(entry)
    if (index !== COMMITMENT.processed) return
    const entryByteCount = keptBytesOf(entry) + ENTRY_BYTES
    this.openSlot().byteCount += entryByteCount
    this.byteCount += entryByteCount
  }

  private dataOf(slot: number): SlotData | undefined {
    return this.slots.findLast(data => data.slot === slot)
  }

  private openSlot(): SlotData {
    const slot = this.slots.at(-1)
    if (slot === undefined) throw new Error('the chain wrote before its first slot')
    return slot
  }

  /** Evicts the oldest final slots while a bound is exceeded. */
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
