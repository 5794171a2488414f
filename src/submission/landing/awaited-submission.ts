import type { IndexOutcome, IndexOutcomes, AwaitedTransaction } from '../../native/reader.js'
import { decodeMemcmp, decodePubkey } from '../../native/encoding.js'
import type { SentSubmission } from '../store/submission-store.js'
import type { Landing } from '../store/submission.js'

/** Blocks after which a blockhash that the index has never had is too old, too. */
const BLOCKHASH_AGE_MAX = 150

type Found = Landing['transactions'][number]

/** A transaction of it. */
type Awaited = {
  readonly signature: string
  /** Undefined of a durable nonce, and as soon as `lastValidHeight` is known. */
  blockhash: string | undefined
  sinceSlot: number
  /** That of a durable nonce is infinite. */
  lastValidHeight: number | undefined
  found: Found
  isExpired: boolean
}

/** What one look-up in the index changed. */
type Change = 'none' | 'found' | 'ended'

type Tip = Omit<IndexOutcomes, 'transactions'>

/** A submission whose transactions are looked for in the index, block by block. */
export class AwaitedSubmission {
  /** As those of its transactions, bytes as `latin1`. */
  private readonly idText: string
  private readonly transactions: readonly Awaited[]
  /** Those that are looked for. */
  private open: readonly Awaited[]
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
      const blockhash = toBlockhash(blockhashes === undefined ? '' : blockhashes[index])
      return {
        signature: toText(decodeMemcmp(signature, 'base58')),
        blockhash,
        sinceSlot: 0,
        lastValidHeight: blockhash === undefined ? Infinity : undefined,
        found: landing?.transactions[index] ?? null,
        isExpired: false,
      }
    })
    this.open = this.transactions.filter(isOpen)
  }

  get id(): Uint8Array {
    return Buffer.from(this.idText, 'latin1')
  }

  get landing(): Landing {
    return { state: this.state, transactions: this.transactions.map(({ found }) => found) }
  }

  /** What is to be looked up: the same objects each time, until they are found or expired. */
  get wanted(): readonly AwaitedTransaction[] {
    return this.open
  }

  /** Takes what is known of what was wanted, the first of which is number `first` of the answer. */
  take(outcomes: readonly IndexOutcome[], first: number, tip: Tip): Change {
    this.follow(tip)
    let change: Change = 'none'
    for (const outcome of outcomes) {
      const transaction = this.open[outcome.index - first]
      if (transaction === undefined) continue
      if (outcome.slot === undefined) this.learnHeight(transaction, outcome, tip)
      else {
        const { slot, error = null } = outcome
        transaction.found = { slot, error: error === null ? null : JSON.stringify(error) }
        change = 'found'
      }
    }
    for (const transaction of this.open) this.age(transaction, tip)
    if (this.open.every(isOpen)) return change
    this.open = this.open.filter(isOpen)
    if (this.open.length > 0) return change
    const areAllFound = this.transactions.every(({ found }) => found !== null)
    this.state = areAllFound ? 'settled' : this.isComplete ? 'expired' : 'unseen'
    return 'ended'
  }

  /** Ends the search. */
  giveUp(): void {
    this.state = 'unseen'
  }

  private follow({ slot, blockHeight, knownAfter }: Tip): void {
    if (this.seenSlot === undefined) this.firstHeight = blockHeight
    else if (knownAfter > this.seenSlot) this.isComplete = false
    this.seenSlot = slot
  }

  private learnHeight(transaction: Awaited, outcome: IndexOutcome, { knownAfter }: Tip): void {
    const { blockhashSlot, lastValidBlockHeight } = outcome
    if (transaction.lastValidHeight !== undefined || lastValidBlockHeight === undefined) return
    transaction.lastValidHeight = lastValidBlockHeight
    transaction.blockhash = undefined
    // It may be in a block since the one of its blockhash.
    if (blockhashSlot !== undefined && blockhashSlot < knownAfter) this.isComplete = false
  }

  /** A transaction that is in no block yet may have become too old for one. */
  private age(transaction: Awaited, { slot, blockHeight }: Tip): void {
    transaction.sinceSlot = slot
    const known = transaction.lastValidHeight
    if (transaction.found !== null) return
    if (blockHeight <= (known ?? this.firstHeight + BLOCKHASH_AGE_MAX)) return
    transaction.isExpired = true
    // It may have landed before this process began.
    if (known === undefined && this.isRecovered) this.isComplete = false
  }
}

const isOpen = ({ found, isExpired }: Awaited): boolean => found === null && !isExpired

const toText = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString('latin1')

/** No block's hash. */
const UNKNOWN = toText(new Uint8Array(32).fill(255))

const toBlockhash = (text: string | null | undefined): string | undefined => {
  if (text === null) return undefined
  return text === undefined || text === '' ? UNKNOWN : toText(decodePubkey(text))
}
