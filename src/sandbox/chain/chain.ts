import bs58 from 'bs58'
import { LiteSvm, Rent } from 'litesvm/dist/internal.js'
import { ADDRESSES } from '../solana/addresses.js'
import { FIRST_SLOT } from './block.js'
import type {
  AccountState,
  AccountUpdate,
  Block,
  Commitment,
  SystemWrite,
  TransactionRecord,
} from './block.js'
import { BlockWriter } from './system/block-writer.js'
import type { BlockhashAge } from './blockhash-queue.js'
import { compileTransaction } from '../solana/compile-transaction.js'
import { Emitter } from './emitter.js'
import { type Machine, type ResolvedKeys, resolveKeys } from './execute-transaction.js'
import { deriveBytes, deriveKeypair, type Keypair, SANDBOX_SEED } from '../solana/keypair.js'
import type { ParsedTransaction } from '../solana/transaction.js'
import type { BundleSent, Sent } from './sent.js'
import { Recency } from './recency.js'
import { SvmAccounts } from './svm-accounts.js'
import { transferLamports } from '../solana/system-instructions.js'
import { isWrittenByBlocks } from './system/sysvars.js'
import { TokenBalances } from './token-balances.js'
import { type Run, type SimulationRules, TransactionRunner } from './transaction-runner.js'

/** Options of the dev chain. */
export const defaults = {
  /** Seed of all keys and, with the time of the start, of the block hashes. */
  seed: SANDBOX_SEED,
  firstSlot: FIRST_SLOT,
  /** Validators accept the hash of this many past blocks. */
  blockhashAgeMax: 150,
  /**
   * A slot is final when it has this many descendants; the first slot, at once. 0, as Alpenglow
   * has it: one event confirms and finalizes a block. TowerBFT has 32.
   */
  finalizedAfterSlots: 0,
  /** Validators: with Alpenglow every block writes their vote accounts. */
  validatorCount: 4,
  /** Lamports that a byte of an account must hold, with 128 bytes of overhead for each. */
  lamportsPerByte: 5_080n,
  /** Initial balance of the faucet. */
  faucetLamports: 1_000_000_000_000_000_000n,
}
export type ChainOptions = typeof defaults

/**
 * Events of a chain. Order within a slot: `slotStarted`, `account` of the Clock and SlotHashes,
 * `bankCreated`, `account` and `transaction`, `block`, then `status`.
 */
export type ChainEvents = {
  slotStarted: [slot: number, parentSlot: number]
  bankCreated: [slot: number, parentSlot: number]
  account: [update: AccountUpdate]
  /** Before the account writes of the same transaction. */
  deshredded: [record: TransactionRecord]
  /** After the account writes of the same transaction. */
  transaction: [record: TransactionRecord]
  block: [block: Block]
  status: [slot: number, parentSlot: number, status: Commitment]
}

/** A block's place in the chain. */
type ChainPoint = { readonly slot: number; readonly blockHeight: number }

const RENT_EXEMPT_EPOCH = 0xffff_ffff_ffff_ffffn
const RENT_BURN_PERCENT = 50

type OpenBlock = {
  readonly slot: number
  readonly parentSlot: number
  readonly parentBlockhash: string
  readonly blockHeight: number
  readonly transactions: TransactionRecord[]
  accountUpdateCount: number
}

/**
 * A chain of one validator on LiteSVM. Transactions are executed in the open block synchronously;
 * `tick` closes it and opens the next. `now` is the only clock.
 */
export class Chain {
  readonly svm: LiteSvm
  readonly faucet: Keypair
  readonly options: ChainOptions
  private readonly accounts: SvmAccounts
  private readonly writer: BlockWriter
  private readonly tokens = new TokenBalances()
  private readonly machine: Machine
  private readonly emitter = new Emitter<ChainEvents>()
  private readonly recency: Recency
  private readonly runner: TransactionRunner
  private readonly genesis: Buffer
  private writeVersion = 0
  private open: OpenBlock
  private last: Block
  /** The newest final block. */
  private lastFinal: ChainPoint
  /** Blocks that are not final yet, the oldest first. */
  private readonly pending: (ChainPoint & { readonly parentSlot: number })[] = []
  private readonly skipped = new Set<number>()

  constructor(options: Partial<ChainOptions> = {}, now: () => number = Date.now) {
    this.options = { ...defaults, ...options }
    const { seed, firstSlot, lamportsPerByte, validatorCount } = this.options
    this.svm = new LiteSvm()
    this.svm.setRent(new Rent(lamportsPerByte, 1, RENT_BURN_PERCENT))
    this.svm.withNativeMints()
    // The chain itself checks blockhash age and duplicates: LiteSVM knows one blockhash only.
    this.svm.setBlockhashCheck(false)
    this.svm.setTransactionHistory(0n)
    this.accounts = new SvmAccounts(this.svm)
    this.machine = { svm: this.svm, accounts: this.accounts, tokens: this.tokens }
    const { isAlpenglow } = this
    this.writer = new BlockWriter(this.svm, { isAlpenglow, seed, validatorCount }, now)
    this.recency = new Recency(this.accounts, this.options.blockhashAgeMax)
    this.runner = new TransactionRunner(this.machine, this.recency)
    this.genesis = deriveBytes('genesis', seed, now())
    this.faucet = deriveKeypair(seed, 'faucet')
    this.last = {
      slot: firstSlot - 1,
      parentSlot: firstSlot - 1,
      blockhash: bs58.encode(this.genesis),
      parentBlockhash: bs58.encode(this.genesis),
      blockHeight: firstSlot - 1,
      blockTime: Math.floor(now() / 1000),
      transactions: [],
      accountUpdateCount: 0,
    }
    this.lastFinal = this.last
    this.recency.addBlock(this.genesis, this.last.blockHeight)
    this.open = this.createBlock()
  }

  /**
   * Starts the first block with the accounts of the virtual machine and the faucet. Add listeners
   * before.
   */
  start(): void {
    this.startSlot()
    for (const [pubkey, state] of this.accounts.builtins())
      if (!isWrittenByBlocks(pubkey)) this.publish(pubkey, state, undefined)
    this.load(this.faucet.publicKey, {
      lamports: this.options.faucetLamports,
      owner: ADDRESSES.system,
      executable: false,
      rentEpoch: RENT_EXEMPT_EPOCH,
      data: new Uint8Array(0),
    })
  }

  /** Returns a function that removes the listener. */
  on<E extends keyof ChainEvents>(
    event: E,
    listener: (...args: ChainEvents[E]) => void,
  ): () => void {
    return this.emitter.on(event, listener)
  }

  /** Slot of the open block. */
  get slot(): number {
    return this.open.slot
  }

  /**
   * The newest closed block, at commitments `processed` and `confirmed`. Before the first one it is
   * the genesis.
   */
  get tip(): Block {
    return this.last
  }

  /** The newest final slot. Before the first one it is that of the genesis. */
  get finalizedSlot(): number {
    return this.lastFinal.slot
  }

  /** Slot and height of the newest block with at least this commitment. */
  blockAt(commitment: Commitment): ChainPoint {
    return commitment === 'finalized' ? this.lastFinal : this.last
  }

  /** Blockhash for a new transaction, and the last block height that accepts it. */
  latestBlockhash(commitment: Commitment = 'confirmed') {
    const { slot, blockHeight } = this.blockAt(commitment)
    const lastValidBlockHeight = blockHeight + this.options.blockhashAgeMax
    return { blockhash: this.blockhashOf(slot), slot, lastValidBlockHeight }
  }

  /** Hash of any block, also of a future one. */
  blockhashOf(slot: number): string {
    const isGenesis = slot < this.options.firstSlot
    return bs58.encode(isGenesis ? this.genesis : deriveBytes('block', this.genesis, slot))
  }

  /** By the newest block with this commitment, which does not know the hash of a later one. */
  isBlockhashValid(blockhash: Uint8Array, commitment: Commitment = 'confirmed'): boolean {
    return this.recency.ageOfBlockhash(blockhash, this.heightOf(commitment)) === 'recent'
  }

  /** Age of a transaction's blockhash; a valid durable nonce is recent. */
  blockhashAge(transaction: ParsedTransaction, commitment: Commitment = 'confirmed'): BlockhashAge {
    return this.recency.ageOf(transaction, this.heightOf(commitment))
  }

  /** True if a transaction with this signature is in one of the recent blocks. */
  isProcessed(signature: Uint8Array): boolean {
    return this.recency.isProcessed(signature)
  }

  /** All keys of a transaction; `undefined` where a lookup table cannot be read. */
  resolveKeys(transaction: ParsedTransaction): ResolvedKeys | undefined {
    return resolveKeys(transaction, this.machine)
  }

  lamports(pubkey: Uint8Array): bigint {
    return this.accounts.lamports(pubkey)
  }

  account(pubkey: Uint8Array): AccountState | undefined {
    return this.accounts.get(pubkey)
  }

  /** Accounts of a program, in ascending order of their addresses. */
  programAccounts(program: Uint8Array): [pubkey: Uint8Array, state: AccountState][] {
    return this.accounts.ownedBy(program).flatMap(pubkey => {
      const state = this.accounts.get(pubkey)
      return state === undefined ? [] : [[pubkey, state] as [Uint8Array, AccountState]]
    })
  }

  rentExemptLamports(dataByteCount: number): bigint {
    return this.svm.minimumBalanceForRentExemption(BigInt(dataByteCount))
  }

  /** Executes a signed transaction. Never throws: invalid bytes are refused. */
  send(bytes: Uint8Array): Sent {
    const run = this.runner.run(bytes)
    return run.landed ? { landed: true, record: this.commit(run) } : run
  }

  /**
   * Executes a transaction and rolls it back. `inspect` runs in between, on the accounts as the
   * transaction leaves them. They are those of the open block at every commitment, which decides
   * only which blockhashes are known.
   */
  simulate<T>(
    bytes: Uint8Array,
    { commitment, ...rules }: SimulationRules & { readonly commitment: Commitment },
    inspect: () => T,
  ) {
    const newestHeight = this.heightOf(commitment)
    return this.runner.simulate(bytes, { ...rules, newestHeight }, inspect)
  }

  /**
   * Executes transactions in order, adjacent in the block. All are rolled back where one is refused
   * or fails, or where `isAccepted` returns false after the last.
   */
  sendBundle(members: readonly Uint8Array[], isAccepted: () => boolean = () => true): BundleSent {
    const bundle = this.runner.runBundle(members, isAccepted)
    if (!bundle.landed) return bundle
    return { landed: true, records: bundle.runs.map(run => this.commit(run)) }
  }

  /** Compiles, signs and sends a transaction. Throws if it does not succeed. */
  submit(
    instructions: Parameters<typeof compileTransaction>[0],
    signers: Parameters<typeof compileTransaction>[1],
  ): TransactionRecord {
    const sent = this.send(
      compileTransaction(instructions, signers, bs58.decode(this.last.blockhash)),
    )
    if (!sent.landed) throw new Error(`sandbox transaction refused: ${sent.reason}`)
    const { error, logs } = sent.record
    if (error !== undefined)
      throw new Error(`sandbox transaction failed: ${JSON.stringify(error)} ${logs.join(' ')}`)
    return sent.record
  }

  /** Transfers lamports from the faucet. */
  airdrop(pubkey: Uint8Array, lamports: bigint): TransactionRecord {
    const instruction = transferLamports(this.faucet.publicKey, pubkey, lamports)
    return this.submit([instruction], [this.faucet])
  }

  /** Sets an account without a transaction. */
  load(pubkey: Uint8Array, state: AccountState): void {
    // The chain writes these itself: a loaded Clock would turn its time back.
    if (isWrittenByBlocks(pubkey)) return
    this.accounts.load(pubkey, state)
    this.publish(pubkey, state, undefined)
  }

  /** No block is made in this future slot. */
  skip(slot: number): void {
    if (slot > this.slot) this.skipped.add(slot)
  }

  /** Closes the open block and opens the next. */
  tick(): Block {
    const { slot, parentSlot } = this.open
    const blockhash = deriveBytes('block', this.genesis, slot)
    this.write(this.writer.endBlock(slot, this.lastFinal.slot, blockhash))
    const { unixTime: blockTime } = this.writer
    const block: Block = { ...this.open, blockTime, blockhash: bs58.encode(blockhash) }
    this.last = block
    this.recency.addBlock(blockhash, block.blockHeight)
    this.emitter.emit('block', block)
    this.emitter.emit('status', slot, parentSlot, 'processed')
    this.emitter.emit('status', slot, parentSlot, 'confirmed')
    this.pending.push(block)
    this.finalize()
    this.open = this.createBlock()
    this.startSlot()
    return block
  }

  /** Whether one event confirms and finalizes a block, and votes are no transactions. */
  get isAlpenglow(): boolean {
    return this.options.finalizedAfterSlots === 0
  }

  /** A block is final when it has enough descendants; the first one, at once. */
  private finalize(): void {
    const [oldest] = this.pending
    if (oldest === undefined) return
    const isFirst = oldest.slot === this.options.firstSlot
    if (!isFirst && this.pending.length <= this.options.finalizedAfterSlots) return
    this.pending.shift()
    this.lastFinal = oldest
    this.emitter.emit('status', oldest.slot, oldest.parentSlot, 'finalized')
  }

  private heightOf(commitment: Commitment): number {
    return this.blockAt(commitment).blockHeight
  }

  private createBlock(): OpenBlock {
    const { slot, blockhash, blockHeight } = this.last
    let next = slot + 1
    while (this.skipped.delete(next)) next++
    return {
      slot: next,
      parentSlot: slot,
      parentBlockhash: blockhash,
      blockHeight: blockHeight + 1,
      transactions: [],
      accountUpdateCount: 0,
    }
  }

  private startSlot(): void {
    const { slot, parentSlot, parentBlockhash } = this.open
    this.emitter.emit('slotStarted', slot, parentSlot)
    const parent = { slot: parentSlot, blockhash: bs58.decode(parentBlockhash) }
    this.write(this.writer.startBlock(slot, parent))
    // Durable nonces need a new blockhash of the virtual machine in each slot.
    this.svm.expireBlockhash()
    this.emitter.emit('bankCreated', slot, parentSlot)
  }

  /** Publishes accounts that the chain itself writes, without a transaction. */
  private write(writes: readonly SystemWrite[]): void {
    for (const { pubkey, owner, data } of writes) {
      const lamports = this.rentExemptLamports(data.length)
      const state = { lamports, owner, executable: false, rentEpoch: RENT_EXEMPT_EPOCH, data }
      this.accounts.load(pubkey, state)
      this.publish(pubkey, state, undefined)
    }
  }

  private publish(
    pubkey: Uint8Array,
    state: AccountState,
    signature: Uint8Array | undefined,
  ): void {
    // Writes of a transaction were recorded at its execution.
    if (signature === undefined) this.tokens.record(pubkey, state)
    this.open.accountUpdateCount++
    this.writeVersion++
    const { writeVersion } = this
    const { slot } = this.open
    this.emitter.emit('account', { ...state, pubkey, slot, writeVersion, signature })
  }

  /** Adds an executed transaction to the open block. */
  private commit({ outcome, writes, transaction, signature }: Run): TransactionRecord {
    const { slot, transactions } = this.open
    const record = { ...outcome, slot, index: transactions.length, signature, transaction }
    this.emitter.emit('deshredded', record)
    for (const [pubkey, state] of writes) this.publish(pubkey, state, signature)
    transactions.push(record)
    this.recency.addSignature(signature, this.open.blockHeight)
    this.emitter.emit('transaction', record)
    return record
  }
}
