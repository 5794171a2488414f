import bs58 from 'bs58'
import { LiteSvm } from 'litesvm/dist/internal.js'
import { ADDRESSES, isSameBytes, toMapKey } from './addresses.js'
import type { AccountState, AccountUpdate, Block, Commitment, TransactionRecord } from './block.js'
import { BlockhashQueue } from './blockhash-queue.js'
import { compileTransaction } from './compile-transaction.js'
import { Emitter } from './emitter.js'
import { executeTransaction, refuse, type Refusal } from './execute-transaction.js'
import { deriveBytes, deriveKeypair, type Keypair } from './keypair.js'
import {
  parseTransaction,
  type ParsedTransaction,
  TransactionFormatError,
} from './parse-transaction.js'
import { SvmAccounts } from './svm-accounts.js'
import { transferLamports } from './system-instructions.js'
import { Sysvars } from './sysvars.js'
import { TokenLedger } from './token-ledger.js'

/** Options of the dev chain. */
export const defaults = {
  /** What keys and, with the clock at start, block hashes are made of. */
  seed: 'slotline sandbox',
  /** Slot of the first block. Not 0, which is its parent. */
  firstSlot: 1,
  /** Validators accept the hash of this many past blocks. */
  blockhashAgeMax: 150,
  /** A slot is final when this many are built upon it, as on a real cluster. */
  finalizedAfterSlots: 32,
  /** What the faucet owns at first: half of what u64 can hold is more than enough. */
  faucetLamports: 1_000_000_000_000_000_000n,
}
export type ChainOptions = typeof defaults

/**
 * What a listener can hear. Within a slot: `slotStarted`, writes and transactions in order,
 * `block`, then `status`.
 */
export type ChainEvents = {
  slotStarted: [slot: number, parentSlot: number]
  account: [update: AccountUpdate]
  /** After the account writes of the same transaction. */
  transaction: [record: TransactionRecord]
  block: [block: Block]
  status: [slot: number, parentSlot: number, status: Commitment]
}

/** What became of a transaction: in the block (perhaps failed), or refused and in no block. */
export type Sent = { readonly landed: true; readonly record: TransactionRecord } | Refusal

type OpenBlock = {
  readonly slot: number
  readonly parentSlot: number
  readonly parentBlockhash: string
  readonly blockHeight: number
  readonly blockTime: number
  readonly transactions: TransactionRecord[]
  accountUpdateCount: number
}

/**
 * A chain of one validator on LiteSVM. The open block takes transactions at once; `tick` closes it
 * and opens the next. Nothing here waits, and nothing looks at a clock but `now`.
 */
export class Chain {
  readonly svm: LiteSvm
  readonly faucet: Keypair
  readonly options: ChainOptions
  private readonly now: () => number
  private readonly accounts: SvmAccounts
  private readonly sysvars: Sysvars
  private readonly tokens = new TokenLedger()
  private readonly emitter = new Emitter<ChainEvents>()
  private readonly blockhashes: BlockhashQueue
  private readonly signatures = new Map<string, number>()
  private readonly genesis: Buffer
  private writeVersion = 0
  private open: OpenBlock
  private last: Block

  constructor(options: Partial<ChainOptions> = {}, now: () => number = Date.now) {
    this.options = { ...defaults, ...options }
    this.now = now
    const { seed, firstSlot } = this.options
    this.svm = new LiteSvm()
    this.svm.withNativeMints()
    // Recency, and what was processed before, are the chain's to check: LiteSVM knows one hash
    // only.
    this.svm.setBlockhashCheck(false)
    this.svm.setTransactionHistory(0n)
    this.accounts = new SvmAccounts(this.svm)
    this.sysvars = new Sysvars(this.svm)
    this.blockhashes = new BlockhashQueue(this.options.blockhashAgeMax)
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
    this.blockhashes.add(this.genesis, this.last.blockHeight)
    this.open = this.createBlock()
  }

  /**
   * Begins the first block with the accounts of the virtual machine and the faucet. Listeners come
   * before this.
   */
  start(): void {
    this.startSlot()
    for (const [pubkey, state] of this.accounts.builtins())
      if (!isSameBytes(pubkey, ADDRESSES.clock)) this.publish(pubkey, state, undefined)
    this.load(this.faucet.publicKey, {
      lamports: this.options.faucetLamports,
      owner: ADDRESSES.system,
      executable: false,
      rentEpoch: 0xffff_ffff_ffff_ffffn,
      data: new Uint8Array(0),
    })
  }

  on<E extends keyof ChainEvents>(
    event: E,
    listener: (...args: ChainEvents[E]) => void,
  ): () => void {
    return this.emitter.on(event, listener)
  }

  /** The slot that takes transactions now. */
  get slot(): number {
    return this.open.slot
  }

  /**
   * The newest finished block: what `processed` and `confirmed` mean here. Before the first it is
   * the genesis, which has no block.
   */
  get tip(): Block {
    return this.last
  }

  /** Hash for a new transaction, and the last block height that takes it. */
  latestBlockhash(): { blockhash: string; lastValidBlockHeight: number; slot: number } {
    const { blockhash, blockHeight, slot } = this.last
    return { blockhash, slot, lastValidBlockHeight: blockHeight + this.options.blockhashAgeMax }
  }

  /** Hash of any block from the genesis on; also of one that is still to come. */
  blockhashOf(slot: number): string {
    const isGenesis = slot < this.options.firstSlot
    return bs58.encode(isGenesis ? this.genesis : deriveBytes('block', this.genesis, slot))
  }

  isBlockhashValid(blockhash: Uint8Array): boolean {
    return this.blockhashes.isRecent(blockhash)
  }

  account(pubkey: Uint8Array): AccountState | undefined {
    return this.accounts.get(pubkey)
  }

  rentExemptLamports(dataByteCount: number): bigint {
    return this.svm.minimumBalanceForRentExemption(BigInt(dataByteCount))
  }

  /**
   * Executes a signed transaction at once. Throws nothing: bytes that are no transaction are
   * refused too.
   */
  send(bytes: Uint8Array): Sent {
    let transaction: ParsedTransaction
    try {
      transaction = parseTransaction(bytes)
    } catch (error) {
      if (error instanceof TransactionFormatError)
        return refuse('SanitizeFailure', [], error.message)
      throw error
    }
    const signature = transaction.signatures[0]
    if (signature === undefined) return refuse('SanitizeFailure', [], 'no signature')
    if (!this.isRecent(transaction)) return refuse('BlockhashNotFound', [], 'Blockhash not found')
    const id = toMapKey(signature)
    if (this.signatures.has(id))
      return refuse('AlreadyProcessed', [], 'This transaction has already been processed')
    const { slot, transactions } = this.open
    const result = executeTransaction(transaction, this.svm, this.accounts, this.tokens)
    if (!result.landed) return result
    for (const [pubkey, state] of result.writes) this.publish(pubkey, state, signature)
    const record = { ...result.outcome, slot, index: transactions.length, signature, transaction }
    transactions.push(record)
    this.signatures.set(id, this.open.blockHeight)
    this.emitter.emit('transaction', record)
    return { landed: true, record }
  }

  /**
   * Compiles, signs and sends; throws where the transaction does not succeed. For what the sandbox
   * itself does.
   */
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

  /** A real transfer from the faucet. */
  airdrop(pubkey: Uint8Array, lamports: bigint): TransactionRecord {
    const instruction = transferLamports(this.faucet.publicKey, pubkey, lamports)
    return this.submit([instruction], [this.faucet])
  }

  /** Sets an account to exactly this, now and without a transaction. */
  load(pubkey: Uint8Array, state: AccountState): void {
    // The chain's own clock goes on: a foreign one would set the time of every account back.
    if (isSameBytes(pubkey, ADDRESSES.clock)) return
    this.accounts.load(pubkey, state)
    this.publish(pubkey, state, undefined)
  }

  /** Closes the open block and opens the next. */
  tick(): Block {
    const { slot, parentSlot } = this.open
    const blockhash = deriveBytes('block', this.genesis, slot)
    const block: Block = { ...this.open, blockhash: bs58.encode(blockhash) }
    this.last = block
    this.blockhashes.add(blockhash, block.blockHeight)
    this.forgetSignatures()
    this.emitter.emit('block', block)
    this.emitter.emit('status', slot, parentSlot, 'processed')
    this.emitter.emit('status', slot, parentSlot, 'confirmed')
    const finalized = slot - this.options.finalizedAfterSlots
    if (finalized >= this.options.firstSlot)
      this.emitter.emit('status', finalized, finalized - 1, 'finalized')
    this.sysvars.addSlotHash(slot, blockhash)
    this.open = this.createBlock()
    this.startSlot()
    return block
  }

  private createBlock(): OpenBlock {
    const { slot, blockhash, blockHeight, blockTime } = this.last
    return {
      slot: slot + 1,
      parentSlot: slot,
      parentBlockhash: blockhash,
      blockHeight: blockHeight + 1,
      // A wall clock may step back; the chain's never does.
      blockTime: Math.max(blockTime, Math.floor(this.now() / 1000)),
      transactions: [],
      accountUpdateCount: 0,
    }
  }

  private startSlot(): void {
    const { slot, parentSlot, blockTime } = this.open
    this.emitter.emit('slotStarted', slot, parentSlot)
    this.sysvars.startSlot(slot, blockTime)
    // Durable nonces need a new hash of the virtual machine itself.
    this.svm.expireBlockhash()
    const clock = this.accounts.get(ADDRESSES.clock)
    if (clock !== undefined) this.publish(ADDRESSES.clock, clock, undefined)
  }

  private publish(
    pubkey: Uint8Array,
    state: AccountState,
    signature: Uint8Array | undefined,
  ): void {
    // What a transaction wrote, its execution noted.
    if (signature === undefined) this.tokens.note(pubkey, state)
    this.open.accountUpdateCount++
    this.writeVersion++
    const { writeVersion } = this
    const { slot } = this.open
    this.emitter.emit('account', { ...state, pubkey, slot, writeVersion, signature })
  }

  private isRecent(transaction: ParsedTransaction): boolean {
    const { recentBlockhash } = transaction
    return this.blockhashes.isRecent(recentBlockhash) || this.isNonce(transaction)
  }

  /** True where the first instruction advances a nonce account that holds the named hash. */
  private isNonce({ instructions, keys, recentBlockhash }: ParsedTransaction): boolean {
    const first = instructions[0]
    const program = keys[first?.programIdIndex ?? -1]
    const nonce = keys[first?.accounts[0] ?? -1]
    if (first === undefined || program === undefined || nonce === undefined) return false
    if (!isSameBytes(program, ADDRESSES.system)) return false
    if (!isSameBytes(first.data, Uint8Array.of(4, 0, 0, 0))) return false
    const state = this.accounts.get(nonce)
    return (
      state !== undefined &&
      isSameBytes(state.owner, ADDRESSES.system) &&
      state.data.length === 80 &&
      isSameBytes(state.data.subarray(40, 72), recentBlockhash)
    )
  }

  private forgetSignatures(): void {
    const oldest = this.last.blockHeight - this.options.blockhashAgeMax
    for (const [signature, blockHeight] of this.signatures) {
      if (blockHeight >= oldest) return
      this.signatures.delete(signature)
    }
  }
}
