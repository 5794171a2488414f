import type { IndexOutcome, IndexOutcomes, AwaitedTransaction } from '../../native/reader.js'
import { decodeMemcmp, decodePubkey } from '../../native/encoding.js'
import type { SentSubmission } from '../store/submission-store.js'
import type { Landing } from '../store/submission.js'

/** Blocks after which a blockhash that the index has never had is too old, too. */
const BLOCKHASH_AGE_MAX = 150

type Found = Landing['transactions'][number]

/** A transaction of it. */
type Awaited = Omit<AwaitedTransaction, 'sinceSlot'> & {
  found: Found
  lastValidHeight: number | undefined
  isExpired: boolean
}

/** What one look-up in the index changed. */
type Change = 'none' | 'found' | 'ended'

/** A submission whose transactions are looked for in the index, block by block. */
export class AwaitedSubmission {
  /** As those of its transactions, bytes as `latin1`. */
  private readonly idText: string
  private readonly transactions: readonly Awaited[]
  private readonly isRecovered: boolean
  /** Of the last look-up; undefined before the first one. */
  private seenSlot: number | undefined
  private firstHeight = 0
  /** Whether every block in which a transaction can be was searched. */
  private isComplete = true
  private state: Landing['state'] = 'waiting'

  constructor({ id, isRecovered, submission }: SentSubmission) {
    this.idText = toText(id)
    this.isRecovered = isRecovered
    const { blockhashes, signatures, landing } = submission
    this.transactions = signatures.map((signature, index) => {
      // Of an older build: as long as of a blockhash that is not known.
      const blockhash = blockhashes === undefined ? '' : blockhashes[index]
      return {
        signature: toText(decodeMemcmp(signature, 'base58')),
        blockhash: toBlockhash(blockhash),
        found: landing?.transactions[index] ?? null,
        lastValidHeight: undefined,
        isExpired: false,
      }
    })
  }

  get id(): Uint8Array {
    return Buffer.from(this.idText, 'latin1')
  }

  get landing(): Landing {
    return { state: this.state, transactions: this.transactions.map(({ found }) => found) }
  }

  get wantedCount(): number {
    return this.open().length
  }

  /** What is to be looked up. */
  wanted(): readonly AwaitedTransaction[] {
    const sinceSlot = this.seenSlot ?? 0
    return this.open().map(({ signature, blockhash }) => ({ signature, blockhash, sinceSlot }))
  }

  /** Takes the answers to what was wanted. */
  take(outcomes: readonly IndexOutcome[], tip: Omit<IndexOutcomes, 'transactions'>): Change {
    this.follow(tip)
    const open = this.open()
    let change: Change = 'none'
    for (const [index, outcome] of outcomes.entries()) {
      const transaction = open[index]
      if (transaction === undefined) continue
      if (outcome.slot !== undefined) {
        const { slot, error = null } = outcome
        transaction.found = { slot, error: error === null ? null : JSON.stringify(error) }
        change = 'found'
      } else this.age(transaction, outcome, tip)
    }
    if (this.open().length > 0) return change
    const areAllFound = this.transactions.every(({ found }) => found !== null)
    this.state = areAllFound ? 'settled' : this.isComplete ? 'expired' : 'unseen'
    return 'ended'
  }

  /** Ends the search. */
  giveUp(): void {
    this.state = 'unseen'
  }

  private open(): readonly Awaited[] {
    return this.transactions.filter(({ found, isExpired }) => found === null && !isExpired)
  }

  private follow({ slot, blockHeight, knownAfter }: Omit<IndexOutcomes, 'transactions'>): void {
    if (this.seenSlot === undefined) this.firstHeight = blockHeight
    else if (knownAfter > this.seenSlot) this.isComplete = false
    this.seenSlot = slot
  }

  /** A transaction that is in no block yet may have become too old for one. */
  private age(
    transaction: Awaited,
    { blockhashSlot, lastValidBlockHeight }: IndexOutcome,
    { blockHeight, knownAfter }: Omit<IndexOutcomes, 'transactions'>,
  ): void {
    if (transaction.blockhash === undefined) return
    if (lastValidBlockHeight !== undefined && transaction.lastValidHeight === undefined) {
      transaction.lastValidHeight = lastValidBlockHeight
      // It may be in a block since the one of its blockhash.
      if (blockhashSlot !== undefined && blockhashSlot < knownAfter) this.isComplete = false
    }
    const known = transaction.lastValidHeight
    if (blockHeight <= (known ?? this.firstHeight + BLOCKHASH_AGE_MAX)) return
    transaction.isExpired = true
    // It may have landed before this process began.
    if (known === undefined && this.isRecovered) this.isComplete = false
  }
}

const toText = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString('latin1')

/** No block's hash. */
const UNKNOWN = toText(new Uint8Array(32).fill(255))

const toBlockhash = (text: string | null | undefined): string | undefined => {
  if (text === null) return undefined
  return text === undefined || text === '' ? UNKNOWN : toText(decodePubkey(text))
}
