import type { SubmissionView } from '../dashboard/api/shapes.js'
import type { StoredSubmission } from '../submission/store/submission-tables.js'
import { formatId } from '../submission/store/submission-id.js'

/** A submission as the dashboard shows it. */
export const toSubmissionView = ({ id, submission }: StoredSubmission): SubmissionView => ({
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
