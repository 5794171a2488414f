import type { LiteSvm } from 'litesvm/dist/internal.js'
import type { SystemWrite } from '../block.js'
import { Sysvars } from './sysvars.js'
import { VoteAccounts } from './vote-accounts.js'

const NANOSECONDS_PER_MS = 1_000_000n

export type BlockWriterOptions = {
  readonly isAlpenglow: boolean
  readonly seed: string
  readonly validatorCount: number
}

/** Keeps the time of the chain, and makes the writes of each block that no transaction causes. */
export class BlockWriter {
  private readonly sysvars: Sysvars
  private readonly votes: VoteAccounts
  private readonly isAlpenglow: boolean
  private readonly now: () => number
  private nanoseconds: bigint

  constructor(svm: LiteSvm, options: BlockWriterOptions, now: () => number) {
    this.sysvars = new Sysvars(svm)
    this.votes = new VoteAccounts(options.seed, options.validatorCount)
    this.isAlpenglow = options.isAlpenglow
    this.now = now
    this.nanoseconds = this.readClock()
  }

  /**
   * Time of the newest block in seconds. Blocks of Alpenglow have the time of their end, those of
   * TowerBFT that of their start.
   */
  get unixTime(): number {
    return Number(this.nanoseconds / (1_000n * NANOSECONDS_PER_MS))
  }

  /** Before the first transaction. */
  startBlock(slot: number, parent: Parameters<Sysvars['startBlock']>[2]): SystemWrite[] {
    if (!this.isAlpenglow) this.advanceTime()
    return this.sysvars.startBlock(slot, this.unixTime, parent)
  }

  /** After the last transaction. Votes of TowerBFT are transactions, which the sandbox has not. */
  endBlock(slot: number, rootSlot: number, blockhash: Uint8Array): SystemWrite[] {
    const frozen = this.sysvars.freeze(slot, blockhash)
    if (!this.isAlpenglow) return frozen
    this.advanceTime()
    const votes = this.votes.endBlock({ slot, unixTime: this.unixTime, rootSlot })
    return [...votes, ...this.sysvars.endBlock(slot, this.nanoseconds), ...frozen]
  }

  /** The wall clock may step back; block times must not. */
  private advanceTime(): void {
    const read = this.readClock()
    this.nanoseconds = read > this.nanoseconds ? read : this.nanoseconds + 1n
  }

  private readClock(): bigint {
    return BigInt(Math.floor(this.now())) * NANOSECONDS_PER_MS
  }
}
