import { explainChainError, reasonOf } from '../store/reason.js'
import { delayOf } from '../store/changes.js'
import { lanesOf, stateOf, transactionStateOf } from '../store/state.js'
import { formatId } from '../store/submission-id.js'
import { isInBlock, type StoredSubmission, type Submission } from '../store/submission.js'

const NOWHERE = { slot: null, index: null, error: null, reason: null } as const
const NO_DELAY = { delaySlots: null, delayMs: null } as const
const NO_TIPS: readonly object[] = []

const transactionOf = (submission: Submission, signature: string, at: number): object => {
  const fate = submission.landing?.transactions[at]
  const head = { signature, state: transactionStateOf(fate) }
  const tips = submission.tips?.[at] ?? NO_TIPS
  if (!isInBlock(fate)) return { ...head, ...NOWHERE, ...NO_DELAY, tips }
  const { error, index, slot } = fate
  const failure =
    error === null
      ? { error: null, reason: null }
      : { error: toJson(error), reason: explainChainError(error) }
  return { ...head, slot, index, ...failure, ...delayOf(submission, fate), tips }
}

/** The chain's error, which is stored as JSON. */
const toJson = (error: string): unknown => {
  const parsed: unknown = JSON.parse(error)
  return parsed
}

/** What its transactions in blocks have paid: one that failed has paid no tip. */
const tipsPaid = ({ landing, tips = [] }: Submission): number =>
  tips
    .filter((_, at) => {
      const fate = landing?.transactions[at]
      return isInBlock(fate) && fate.error === null
    })
    .flat()
    .reduce((sum, { lamports }) => sum + lamports, 0)

/** A submission as its access sees it. */
export const toView = (
  { id, submission }: StoredSubmission,
  times: Parameters<typeof stateOf>[1],
): object => ({
  submissionId: formatId(id),
  network: submission.network,
  location: submission.location,
  route: submission.route,
  bundleId: submission.bundleId,
  state: stateOf(submission, times),
  reason: reasonOf(submission),
  findings: submission.findings ?? null,
  receivedAtMs: submission.receivedAtMs,
  receivedSlot: submission.receivedSlot ?? null,
  writtenAtMs: submission.forwardedAtMs,
  answeredAtMs: submission.answeredAtMs,
  tipLamports: tipsPaid(submission),
  ...(submission.lanes !== undefined && { lanes: lanesOf(submission, times) }),
  transactions: submission.signatures.map((signature, at) =>
    transactionOf(submission, signature, at),
  ),
})
