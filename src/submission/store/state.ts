import type { Landing, Submission } from './submission.js'

/**
 * What a submission has come to. `sent`: no answer yet. `accepted` by the upstream, and not seen in
 * a block yet. `landed`: every transaction is in a block, and succeeded; `partly-landed`: some of
 * them. `failed`: in a block, with an error. `expired`: not in a block, and can be in none any
 * more. `unseen`: it is not known whether it landed. `refused` by the upstream, `invalid` by a
 * check of ours, `full`: no capacity, `unreachable`: nothing was sent, `unknown`: sent, and not
 * answered; it may land.
 */
export type SubmissionState =
  | 'sent'
  | 'accepted'
  | 'landed'
  | 'partly-landed'
  | 'failed'
  | 'expired'
  | 'unseen'
  | 'refused'
  | 'invalid'
  | 'full'
  | 'unreachable'
  | 'unknown'

/** From the end of the search for a submission to the record of it. */
const GRACE_MS = 60_000

type Times = {
  /** Unix milliseconds. */
  readonly nowMs: number
  /** How long transactions are searched for in the index. */
  readonly awaitedMs: number
}

/** The state of a submission of which at least one transaction is in a block. */
const stateInBlocks = ({ transactions }: Landing): SubmissionState | undefined => {
  const landed = transactions.filter(one => one !== null)
  if (landed.length === 0) return undefined
  const successCount = landed.filter(({ error }) => error === null).length
  if (successCount === 0) return 'failed'
  return successCount === transactions.length ? 'landed' : 'partly-landed'
}

/** The state where its answer was, or may become, that it lands. */
const stateNotInBlocks = (submission: Submission, { nowMs, awaitedMs }: Times): SubmissionState => {
  const { landing, outcome, receivedAtMs } = submission
  if (landing?.state === 'expired') return 'expired'
  // Of a sender that was killed, or of an older build.
  const isOver = nowMs - receivedAtMs > awaitedMs + GRACE_MS
  if (landing?.state === 'unseen' || isOver) return 'unseen'
  if (outcome === 'pending') return 'sent'
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

/** Whether a submission was sent, so that its transactions may land. */
export const isAwaited = ({ landing, outcome, signatures }: Submission): boolean =>
  signatures.length > 0 &&
  (landing === undefined || landing.state === 'waiting') &&
  (outcome === 'accepted' || outcome === 'unknown' || outcome === 'refused')
