import { explainChainError, reasonOf } from './reason.js'
import { isInBlock, type Fate, type InBlock, type Submission, type Told } from './submission.js'

/** A state that a submission as a whole has reached. */
type OwnState = 'received' | 'written' | Exclude<Submission['outcome'], 'pending'>
/** A state that one of its transactions has reached. `withdrawn`: no block of the chain has it. */
type MemberState = 'in-block' | 'withdrawn' | 'final' | 'failed' | 'expired' | 'replaced' | 'unseen'

/** One state that was reached, as events tell it. Undefined members are left out. */
export type StateChange = {
  readonly state: OwnState | MemberState
  /** Unix milliseconds; null where it is not known when. */
  readonly atMs: number | null
  /** Of all its transactions, with `received` or later, as soon as they are known. */
  readonly signatures?: readonly string[]
  readonly reason?: string
  /** Of the transaction that reached it, with what follows. */
  readonly signature?: string
  readonly slot?: number
  readonly index?: number | null
  /** The chain's error, as JSON, and in words. */
  readonly error?: string | null
  readonly errorWords?: string
  /** Since it was received; null where that is not known. */
  readonly delaySlots?: number | null
  readonly delayMs?: number | null
}

/** How a submission is written. */
export type PutParts = {
  /** As it is stored; undefined of a new one. */
  readonly before: Submission | undefined
  /** Unix milliseconds. */
  readonly nowMs: number
}

/** A write that has begun. */
export type Put = {
  readonly stored: Submission
  /** What is told of it then. */
  readonly told: readonly StateChange[]
  /** Resolves when other processes can read both. */
  readonly written: Promise<void>
}

/** What a new event is compared with. */
export const toldOf = ({ forwardedAtMs, landing, outcome }: Submission): Told => ({
  forwardedAtMs,
  outcome,
  landing,
})

/** Slots and milliseconds from the receipt to a block. */
export const delayOf = (
  { receivedAtMs, receivedSlot }: Submission,
  { seenAtMs, slot }: InBlock,
): { readonly delaySlots: number | null; readonly delayMs: number | null } => ({
  delaySlots: receivedSlot === undefined ? null : Math.max(0, slot - receivedSlot),
  delayMs: seenAtMs === null ? null : Math.max(0, seenAtMs - receivedAtMs),
})

const ownChanges = (before: Told | undefined, submission: Submission): readonly StateChange[] => {
  const { answeredAtMs, forwardedAtMs, outcome, receivedAtMs } = submission
  const changes: StateChange[] = []
  if (before === undefined) changes.push({ state: 'received', atMs: receivedAtMs })
  if (forwardedAtMs !== null && (before?.forwardedAtMs ?? null) === null)
    changes.push({ state: 'written', atMs: forwardedAtMs })
  if (outcome !== 'pending' && (before?.outcome ?? 'pending') !== outcome) {
    const reason = reasonOf(submission)
    changes.push({ state: outcome, atMs: answeredAtMs, ...(reason !== null && { reason }) })
  }
  const [first] = changes
  return first === undefined
    ? changes
    : [{ ...first, signatures: submission.signatures }, ...changes.slice(1)]
}

const fateChanges = (
  submission: Submission,
  at: number,
  [before, fate]: readonly [before: Fate | undefined, fate: Fate | undefined],
  nowMs: number,
): readonly StateChange[] => {
  const signature = submission.signatures[at] ?? ''
  const changes: StateChange[] = []
  const stood = isInBlock(before) ? before : undefined
  const isSame = stood !== undefined && isInBlock(fate) && stood.slot === fate.slot
  if (stood !== undefined && !isSame)
    changes.push({ state: 'withdrawn', atMs: nowMs, signature, slot: stood.slot })
  if (fate === null || fate === undefined) return changes
  if (!isInBlock(fate)) {
    const isTold = before !== null && before !== undefined && !isInBlock(before)
    return isTold ? changes : [...changes, { state: fate.end, atMs: fate.seenAtMs, signature }]
  }
  const { error, index, isFinal, seenAtMs: atMs, slot } = fate
  const of = {
    signature,
    slot,
    index,
    error,
    ...(error !== null && { errorWords: explainChainError(error) }),
  }
  if (!isSame) changes.push({ state: 'in-block', atMs, ...of, ...delayOf(submission, fate) })
  if (isFinal && !(isSame && stood.isFinal))
    changes.push({ state: error === null ? 'final' : 'failed', atMs: nowMs, ...of })
  return changes
}

/** The states that a submission has reached since it was as `before`, in their order. */
export const changesOf = (
  before: Told | undefined,
  submission: Submission,
  nowMs: number,
): readonly StateChange[] => [
  ...ownChanges(before, submission),
  ...submission.signatures.flatMap((_, at) =>
    fateChanges(
      submission,
      at,
      [before?.landing?.transactions[at], submission.landing?.transactions[at]],
      nowMs,
    ),
  ),
]
