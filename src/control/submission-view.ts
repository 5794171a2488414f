import type { SubmissionPageView, SubmissionView } from '../dashboard/api/submissions/shapes.js'
import { explainChainError, reasonOf } from '../submission/store/reason.js'
import type { SubmissionPage } from '../submission/store/search.js'
import { delayOf } from '../submission/store/changes.js'
import { laneOfRoute } from '../submission/store/end.js'
import { stateOf, transactionStateOf } from '../submission/store/state.js'
import { formatId } from '../submission/store/submission-id.js'
import {
  isInBlock,
  type StoredSubmission,
  type Submission,
} from '../submission/store/submission.js'

type LaneView = SubmissionView['lanes'][number]

/** Of a race each of its lanes, of other routes the upstream that it was sent to. */
const lanesOf = (submission: Submission): readonly LaneView[] => {
  const { answeredAtMs, engine, forwardedAtMs, joined, lanes, outcome, receivedAtMs, route } =
    submission
  if (lanes !== undefined)
    return lanes.map(
      ({ answeredAfterMs, lane, leftOut, status, words, writtenAfterMs, ...one }) => ({
        ...{ lane, outcome: one.outcome, leftOut: leftOut ?? null },
        ...{ writtenAfterMs, answeredAfterMs, status: status ?? null, words: words ?? '' },
      }),
    )
  const lane = laneOfRoute(route)
  if (lane === null || forwardedAtMs === null || joined !== null || outcome === 'invalid') return []
  // The clock may have been set back.
  const since = (atMs: number): number => Math.max(0, atMs - receivedAtMs)
  return [
    {
      ...{ lane, outcome, leftOut: null, writtenAfterMs: since(forwardedAtMs) },
      answeredAfterMs: answeredAtMs === null ? null : since(answeredAtMs),
      ...{ status: engine?.status ?? null, words: engine?.words ?? '' },
    },
  ]
}

const NOWHERE = { slot: null, index: null, error: null, delaySlots: null, delayMs: null } as const

const transactionsOf = (submission: Submission): SubmissionView['transactions'] =>
  submission.signatures.map((signature, at) => {
    const fate = submission.landing?.transactions[at]
    const own = { signature, state: transactionStateOf(fate), tips: submission.tips?.[at] ?? [] }
    if (!isInBlock(fate)) return { ...own, ...NOWHERE }
    const { error, index, slot } = fate
    const words = error === null ? null : explainChainError(error)
    return { ...own, slot, index, error: words, ...delayOf(submission, fate) }
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
  receivedSlot: submission.receivedSlot ?? null,
  forwardedAtMs: submission.forwardedAtMs,
  answeredAtMs: submission.answeredAtMs,
  checks: submission.checks,
  findings: submission.findings ?? null,
  state: stateOf(submission, times),
  reason: reasonOf(submission),
  outcome: submission.outcome,
  error: submission.error,
  lanes: lanesOf(submission),
})

/** What a search has found as the dashboard shows it. */
export const toPageView = (
  { found, next }: SubmissionPage,
  times: Parameters<typeof stateOf>[1],
): SubmissionPageView => ({
  submissions: found.map(one => toView(one, times)),
  next: next === undefined ? null : formatId(next),
})
