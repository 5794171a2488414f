import { toMapKey } from '../solana/addresses.js'
import type { Block, Commitment, TransactionRecord } from './block.js'
import type { Chain } from './chain.js'

/** Bounds of the history that the chain's RPC serves. */
export const defaults = {
  /** With logs a transaction takes some KiB, so this is about 100 MB. */
  transactionCountMax: 20_000,
  /** A quarter of an hour of blocks of 200 ms. */
  blockCountMax: 4_500,
}
export type HistoryOptions = typeof defaults

const keysOf = ({ transaction, loadedWritable, loadedReadonly }: TransactionRecord): string[] =>
  [...transaction.keys, ...loadedWritable, ...loadedReadonly].map(toMapKey)

/** The newest transactions and blocks of a chain, by signature, address and slot. */
export class History {
  private readonly chain: Chain
  private readonly options: HistoryOptions
  private readonly bySignature = new Map<string, TransactionRecord>()
  /** Oldest first. */
  private readonly byAddress = new Map<string, TransactionRecord[]>()
  private readonly blocks = new Map<number, Block>()
  private readonly stops: (() => void)[]
  /** Transactions since this history was created. */
  transactionCount = 0

  constructor(chain: Chain, options: Partial<HistoryOptions> = {}) {
    this.chain = chain
    this.options = { ...defaults, ...options }
    this.stops = [
      chain.on('transaction', record => this.add(record)),
      chain.on('block', block => this.addBlock(block)),
    ]
  }

  close(): void {
    for (const stop of this.stops) stop()
  }

  find(signature: Uint8Array): TransactionRecord | undefined {
    return this.bySignature.get(toMapKey(signature))
  }

  block(slot: number): Block | undefined {
    return this.blocks.get(slot)
  }

  /** Newest block first. */
  newestBlocks(): Block[] {
    return [...this.blocks.values()].reverse()
  }

  /** Transactions that name an address, oldest first. */
  of(address: Uint8Array): readonly TransactionRecord[] {
    return this.byAddress.get(toMapKey(address)) ?? []
  }

  /** Commitment of a transaction; `processed` in the open block. */
  statusOf({ slot }: TransactionRecord): Commitment {
    if (slot > this.chain.tip.slot) return 'processed'
    return slot <= this.slotAt('finalized') ? 'finalized' : 'confirmed'
  }

  /** The newest slot with at least this commitment. */
  slotAt(commitment: Commitment): number {
    return this.chain.blockAt(commitment).slot
  }

  private add(record: TransactionRecord): void {
    this.transactionCount++
    this.bySignature.set(toMapKey(record.signature), record)
    for (const key of new Set(keysOf(record))) {
      const list = this.byAddress.get(key)
      if (list === undefined) this.byAddress.set(key, [record])
      else list.push(record)
    }
  }

  private addBlock(block: Block): void {
    this.blocks.set(block.slot, block)
    const { transactionCountMax, blockCountMax } = this.options
    for (const oldest of this.blocks.values()) {
      if (this.blocks.size <= blockCountMax && this.bySignature.size <= transactionCountMax) return
      this.blocks.delete(oldest.slot)
      for (const record of oldest.transactions) this.remove(record)
    }
  }

  private remove(record: TransactionRecord): void {
    this.bySignature.delete(toMapKey(record.signature))
    for (const key of new Set(keysOf(record))) {
      const list = this.byAddress.get(key)
      // The oldest record of the chain is also the oldest of each of its addresses.
      if (list?.[0] === record) list.shift()
      if (list?.length === 0) this.byAddress.delete(key)
    }
  }
}
