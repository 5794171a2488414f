import {
  isInBlock,
  isSettled,
  type Fate,
  type Landing,
  type Submission,
  type SUBMISSION_OUTCOMES,
} from './submission.js'
import type { SubmissionState, TransactionState } from '../../shared/submission-states.js'

/** The state of one transaction. */
export const transactionStateOf = (fate: Fate | undefined): TransactionState => {
  if (fate === null || fate === undefined) return 'waiting'
  if (!isInBlock(fate)) return fate.end
  if (!fate.isFinal) return 'in-block'
  return fate.error === null ? 'final' : 'failed'
}

/**
 * A submission whose sender has ended: what was in flight then is `unknown`. The same object where
 * nothing was.
 */
export const toAbandoned = (submission: Submission): Submission => {
  const { lanes, outcome } = submission
  const isPending = outcome === 'pending'
  if (!isPending && !isRacing(submission)) return submission
  return {
    ...submission,
    ...(isPending && { outcome: 'unknown' }),
    ...(lanes !== undefined && {
      lanes: lanes.map(one => (one.outcome === 'pending' ? { ...one, outcome: 'unknown' } : one)),
    }),
  }
}

/** Whether it is in flight on a lane. */
export const isRacing = ({ lanes = [] }: Submission): boolean =>
  lanes.some(({ outcome }) => outcome === 'pending')

/** From the end of the search for a submission to the record of it. */
const GRACE_MS = 60_000

type Times = {
  /** Unix milliseconds. */
  readonly nowMs: number
  /** How long transactions are searched for in the index. */
  readonly awaitedMs: number
}

/** Whether nothing is in flight any more: of a sender that was killed, or of an older build. */
const isOver = ({ receivedAtMs }: Submission, { nowMs, awaitedMs }: Times): boolean =>
  nowMs - receivedAtMs > awaitedMs + GRACE_MS

/** What is known of the lanes of a race. */
export const lanesOf = (submission: Submission, times: Times): Submission['lanes'] =>
  (isOver(submission, times) ? toAbandoned(submission) : submission).lanes

/** The state of a submission of which at least one transaction is in a block. */
const stateInBlocks = ({ transactions }: Landing): SubmissionState | undefined => {
  const landed = transactions.filter(isInBlock)
  if (landed.length === 0) return undefined
  const succeeded = landed.filter(({ error }) => error === null)
  if (succeeded.length === 0) return 'failed'
  if (succeeded.length < transactions.length) return 'partly-landed'
  return succeeded.every(({ isFinal }) => isFinal) ? 'final' : 'in-block'
}

/** The state where its answer was, or may become, that it lands. */
const stateNotInBlocks = (submission: Submission, times: Times): SubmissionState => {
  const { forwardedAtMs, landing, outcome } = submission
  const ends = landing?.transactions.map(transactionStateOf) ?? []
  const isEnded = landing !== undefined && !ends.includes('waiting')
  if (isEnded ? ends.includes('unseen') : isOver(submission, times)) return 'unseen'
  if (isEnded) return ends.includes('replaced') ? 'replaced' : 'expired'
  if (outcome === 'pending') return forwardedAtMs === null ? 'received' : 'written'
  return outcome === 'accepted' ? 'accepted' : 'unknown'
}

/** What a submission has come to: what the index knows counts more than the upstream's answer. */
export const stateOf = (submission: Submission, times: Times): SubmissionState => {
  const { landing, outcome } = submission
  const inBlocks = landing === undefined ? undefined : stateInBlocks(landing)
  if (inBlocks !== undefined) return inBlocks
  if (outcome === 'accepted' || outcome === 'unknown' || outcome === 'pending')
    return stateNotInBlocks(submission, times)
  return outcome
}

/** Outcomes of what was sent, so that its transactions may land. */
const SENT: ReadonlySet<(typeof SUBMISSION_OUTCOMES)[number]> = new Set([
  'accepted',
  'unknown',
  'refused',
])

/** Whether a submission was sent, so that its transactions may land. */
export const isAwaited = ({ landing, outcome, signatures }: Submission): boolean =>
  signatures.length > 0 &&
  SENT.has(outcome) &&
  (landing === undefined || !landing.transactions.every(isSettled))
