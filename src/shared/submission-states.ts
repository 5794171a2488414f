/**
 * What a transaction has come to. `waiting`: in no block yet. `in-block`: in a block of the index.
 * `final`: in a final block, and succeeded. `failed`: in a final block, with an error. The others
 * are as for a submission.
 */
export const TRANSACTION_STATES = [
  'waiting',
  'in-block',
  'final',
  'failed',
  'expired',
  'replaced',
  'unseen',
] as const
export type TransactionState = (typeof TRANSACTION_STATES)[number]

/**
 * What a submission has come to. `received`: nothing is written yet. `written`: no answer yet.
 * `accepted` by the upstream, and not seen in a block yet. `in-block`: every transaction is in a
 * block, and succeeded. `final`: and each of these blocks is final. `partly-landed`: some of them
 * succeeded. `failed`: in a block, with an error. `expired`: in no block, and none can have it any
 * more. `replaced`: its durable nonce was advanced without it. `unseen`: it is not known whether it
 * landed. `refused` by the upstream, `invalid` by a check of ours, `full`: no capacity,
 * `unreachable`: nothing was sent, `unknown`: sent, and not answered; it may land.
 */
export const SUBMISSION_STATES = [
  'received',
  'written',
  'accepted',
  'in-block',
  'final',
  'partly-landed',
  'failed',
  'expired',
  'replaced',
  'unseen',
  'refused',
  'invalid',
  'full',
  'unreachable',
  'unknown',
] as const
export type SubmissionState = (typeof SUBMISSION_STATES)[number]

/**
 * The class of a lane's answer, or why there is none. `written`: to a lane that gives no answers.
 */
export const LANE_ANSWERS = [
  'accepted',
  'written',
  'refused',
  'full',
  'unreachable',
  'unknown',
] as const
export type LaneAnswer = (typeof LANE_ANSWERS)[number]

/**
 * What became of a submission on one lane. `pending`: written, and not answered yet; of a sender
 * that was killed, `unknown`.
 */
export const LANE_OUTCOMES = ['left-out', 'pending', ...LANE_ANSWERS] as const
export type LaneOutcome = (typeof LANE_OUTCOMES)[number]

/** Why a lane was not used. */
export const LEFT_OUT_REASONS = ['protection', 'size', 'tip', 'down', 'rate'] as const
export type LeftOutReason = (typeof LEFT_OUT_REASONS)[number]
