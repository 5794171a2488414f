import { decodeMemcmp, decodePubkey } from '../../native/encoding.js'
import type {
  AwaitedTransaction as Wanted,
  IndexOutcome,
  IndexOutcomes,
} from '../../native/reader.js'
import { isInBlock, isSettled, type Fate } from '../store/submission.js'

/**
 * Blocks after which a blockhash that the index has never had is too old, and a durable nonce that
 * its account has never had was advanced before.
 */
const BLOCKHASH_AGE_MAX = 150

/** The view of the index in which something was looked up. */
export type View = Omit<IndexOutcomes, 'transactions'> & {
  /** Unix milliseconds. */
  readonly atMs: number
}

export type TransactionParts = {
  readonly signature: string
  /** Null of a durable nonce; an empty text where none is known. */
  readonly blockhash: string | null
  readonly nonce: { readonly account: string | null; readonly value: string } | null
  readonly fate: Fate
  /** When it was received; undefined where the index had no block. */
  readonly receivedSlot: number | undefined
  /** It was sent by an earlier process. */
  readonly isRecovered: boolean
}

/**
 * A transaction that is looked for in the index, block by block, until what became of it is final.
 * Bytes are `latin1` texts.
 */
export class AwaitedTransaction implements Wanted {
  readonly signature: string
  /** Undefined as soon as `lastValidHeight` is known. */
  blockhash: string | undefined
  readonly nonce: string | undefined
  sinceSlot = 0
  fate: Fate
  /** That of a durable nonce is infinite. */
  private lastValidHeight: number | undefined
  private readonly receivedSlot: number | undefined
  private readonly isRecovered: boolean
  /** Of the first look-up. */
  private firstHeight: number | undefined
  /** Of the last one. */
  private seenSlot = 0
  /** The account has had its nonce. */
  private hadNonce = false
  /** Whether every block in which it can be was searched. */
  private isComplete = true

  constructor(parts: TransactionParts) {
    const { blockhash, fate, isRecovered, nonce, receivedSlot, signature } = parts
    this.signature = toBytes(decodeMemcmp(signature, 'base58'))
    const account = nonce?.account ?? undefined
    this.nonce = account === undefined ? undefined : toBytes(decodePubkey(account))
    this.blockhash = toWanted(nonce === null ? blockhash : nonce.account && nonce.value)
    this.lastValidHeight = nonce === null && blockhash !== null ? undefined : Infinity
    this.fate = fate
    this.receivedSlot = receivedSlot
    this.isRecovered = isRecovered
  }

  get isOpen(): boolean {
    return !isSettled(this.fate)
  }

  /** Takes what a view knows of it. True if that is new. */
  take(outcome: IndexOutcome | undefined, view: View): boolean {
    const before = this.fate
    this.follow(view)
    if (outcome?.slot !== undefined) this.find(outcome, outcome.slot, view)
    else if (isInBlock(before)) this.missed(before.slot, view)
    else {
      this.learn(outcome, view)
      this.age(outcome, view)
      this.sinceSlot = view.slot
    }
    return this.fate !== before
  }

  /** Ends the search. */
  giveUp(atMs: number): void {
    this.fate ??= { end: 'unseen', seenAtMs: atMs }
  }

  private follow({ blockHeight, knownAfter, slot }: View): void {
    if (this.firstHeight === undefined) {
      this.firstHeight = blockHeight
      // A block with it may be gone from the index already.
      if (this.isRecovered && knownAfter > (this.receivedSlot ?? Infinity)) this.isComplete = false
    } else if (knownAfter > this.seenSlot) this.isComplete = false
    // Another store, whose blocks were not searched.
    if (slot < this.seenSlot) this.sinceSlot = 0
    this.seenSlot = slot
  }

  private find({ error = null, position }: IndexOutcome, slot: number, view: View): void {
    const before = isInBlock(this.fate) && this.fate.slot === slot ? this.fate : undefined
    const isFinal = slot <= (view.finalized?.slot ?? -1)
    this.sinceSlot = slot
    if (before?.isFinal === isFinal) return
    // When a block was seen first is not known where an earlier process may have seen it.
    const isLate = this.isRecovered && this.firstHeight === view.blockHeight
    this.fate = {
      slot,
      index: position ?? null,
      error: error === null ? null : JSON.stringify(error),
      isFinal,
      seenAtMs: before === undefined ? (isLate ? null : view.atMs) : before.seenAtMs,
    }
  }

  /** It was in a block that was not final, and is not any more: the chain has taken another one. */
  private missed(slot: number, { knownAfter, slot: tip }: View): void {
    if (knownAfter >= slot || tip < slot) return
    this.fate = null
    // It may be in a block before that one.
    this.sinceSlot = 0
  }

  private learn(outcome: IndexOutcome | undefined, { knownAfter }: View): void {
    const { blockhashSlot, hasNonce, lastValidBlockHeight } = outcome ?? {}
    if (hasNonce === true) this.hadNonce = true
    if (this.lastValidHeight !== undefined || lastValidBlockHeight === undefined) return
    this.lastValidHeight = lastValidBlockHeight
    this.blockhash = undefined
    // It may be in a block since the one of its blockhash.
    if (blockhashSlot !== undefined && blockhashSlot < knownAfter) this.isComplete = false
  }

  /** What is in no block can be in none any more, as of a final block. */
  private age(outcome: IndexOutcome | undefined, { atMs, finalized }: View): void {
    if (finalized === undefined) return
    const { hasNonce, nonceSlot } = outcome ?? {}
    const { firstHeight = 0, lastValidHeight } = this
    const isOld = finalized.blockHeight > firstHeight + BLOCKHASH_AGE_MAX
    const isReplaced =
      hasNonce === false &&
      nonceSlot !== undefined &&
      nonceSlot <= finalized.slot &&
      // A nonce that the account has not had may be one that this index does not know yet.
      (this.hadNonce || isOld)
    const isExpired =
      lastValidHeight === undefined ? isOld : finalized.blockHeight > lastValidHeight
    if (!isReplaced && !isExpired) return
    // It may have landed before this process began.
    if (lastValidHeight === undefined && this.isRecovered) this.isComplete = false
    const end = isReplaced ? 'replaced' : 'expired'
    this.fate = { end: this.isComplete ? end : 'unseen', seenAtMs: atMs }
  }
}

const toBytes = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString('latin1')

/** No block's hash. */
const UNKNOWN = toBytes(new Uint8Array(32).fill(255))

const toWanted = (text: string | null): string | undefined => {
  if (text === null) return undefined
  return text === '' ? UNKNOWN : toBytes(decodePubkey(text))
}
