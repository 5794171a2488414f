import type { IndexOutcome } from '../../native/reader.js'
import type { SentSubmission } from '../store/submission-store.js'
import type { Landing } from '../store/submission.js'
import { AwaitedTransaction, type View } from './awaited-transaction.js'

/** What one look-up in the index changed. */
type Change = 'none' | 'found' | 'ended'

/** A submission whose transactions are looked for in the index. */
export class AwaitedSubmission {
  readonly accessId: string
  /** Bytes as `latin1`. */
  private readonly idText: string
  private readonly transactions: readonly AwaitedTransaction[]
  /** Those that are looked for. */
  private open: readonly AwaitedTransaction[]

  constructor({ id, isRecovered, submission }: SentSubmission) {
    this.idText = Buffer.from(id.buffer, id.byteOffset, id.byteLength).toString('latin1')
    const { accessId, blockhashes, landing, nonces, receivedSlot, signatures } = submission
    this.accessId = accessId
    this.transactions = signatures.map(
      (signature, index) =>
        new AwaitedTransaction({
          signature,
          // Of a blockhash that is not known.
          blockhash: blockhashes === undefined ? '' : (blockhashes[index] ?? null),
          nonce: nonces?.[index] ?? null,
          fate: landing?.transactions[index] ?? null,
          receivedSlot,
          isRecovered,
        }),
    )
    this.open = this.transactions.filter(({ isOpen }) => isOpen)
  }

  get id(): Uint8Array {
    return Buffer.from(this.idText, 'latin1')
  }

  get landing(): Landing {
    return { transactions: this.transactions.map(({ fate }) => fate) }
  }

  /** What is to be looked up: the same objects each time, until what became of them is final. */
  get wanted(): readonly AwaitedTransaction[] {
    return this.open
  }

  /** Takes what is known of what was wanted, the first of which is number `first` of the answer. */
  take(outcomes: readonly IndexOutcome[], first: number, view: View): Change {
    let isChanged = false
    let next = 0
    for (const [at, transaction] of this.open.entries()) {
      const outcome = outcomes[next]?.index === first + at ? outcomes[next++] : undefined
      if (transaction.take(outcome, view)) isChanged = true
    }
    if (!isChanged) return 'none'
    this.open = this.open.filter(({ isOpen }) => isOpen)
    return this.open.length === 0 ? 'ended' : 'found'
  }

  /** Ends the search. */
  giveUp(atMs: number): void {
    for (const transaction of this.open) transaction.giveUp(atMs)
  }
}
