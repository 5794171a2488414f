import type { SubmissionPageView, SubmissionView } from '../dashboard/api/submissions/shapes.js'
import { explainChainError, reasonOf } from '../submission/store/reason.js'
import type { SubmissionPage } from '../submission/store/search.js'
import { delayOf } from '../submission/store/changes.js'
import { stateOf, transactionStateOf } from '../submission/store/state.js'
import { formatId } from '../submission/store/submission-id.js'
import {
  isInBlock,
  type StoredSubmission,
  type Submission,
} from '../submission/store/submission.js'

const NOWHERE = { slot: null, index: null, error: null, delaySlots: null, delayMs: null } as const

const transactionsOf = (submission: Submission): SubmissionView['transactions'] =>
  submission.signatures.map((signature, at) => {
    const fate = submission.landing?.transactions[at]
    const state = transactionStateOf(fate)
    if (!isInBlock(fate)) return { signature, state, ...NOWHERE }
    const { error, index, slot } = fate
    const words = error === null ? null : explainChainError(error)
    return { signature, state, slot, index, error: words, ...delayOf(submission, fate) }
  })

/** A submission as the dashboard shows it. */
const toView = (
  { id, submission }: StoredSubmission,
  times: Parameters<typeof stateOf>[1],
): SubmissionView => ({
  submissionId: formatId(id),
  network: submission.network,
  location: submission.location,
  route: submission.route,
  bundleId: submission.bundleId,
  transactions: transactionsOf(submission),
  receivedAtMs: submission.receivedAtMs,
  forwardedAtMs: submission.forwardedAtMs,
  answeredAtMs: submission.answeredAtMs,
  checks: submission.checks,
  findings: submission.findings ?? null,
  state: stateOf(submission, times),
  reason: reasonOf(submission),
  outcome: submission.outcome,
  error: submission.error,
})

/** What a search has found as the dashboard shows it. */
export const toPageView = (
  { found, next }: SubmissionPage,
  times: Parameters<typeof stateOf>[1],
): SubmissionPageView => ({
  submissions: found.map(one => toView(one, times)),
  next: next === undefined ? null : formatId(next),
})
