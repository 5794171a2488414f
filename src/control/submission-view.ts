import type { SubmissionView } from '../dashboard/api/shapes.js'
import type { Known } from '../submission/store/submission-store.js'
import { formatId } from '../submission/store/submission-id.js'

/** A submission as the dashboard shows it. */
export const toSubmissionView = ({ id, submission }: Known): SubmissionView => ({
  submissionId: formatId(id),
  location: submission.location,
  route: submission.route,
  bundleId: submission.bundleId,
  signatures: submission.signatures,
  receivedAtMs: submission.receivedAtMs,
  checks: submission.checks,
  answeredAtMs: submission.answeredAtMs,
  outcome: submission.outcome,
  error: submission.error,
})
