import { formatCount, formatMoment } from '../../lib/format.js'
import { explorerLink, STATES, transactionText } from '../../lib/submission-text.js'
import type { Submission } from '../../lib/wire.js'
import { CopyId } from '../shared/copy-id.js'

const Transactions = ({
  submission: { state, transactions },
  explorerUrl,
}: {
  readonly submission: Submission
  readonly explorerUrl: string | undefined
}) => (
  <ol class="transactions" aria-label="Transactions">
    {transactions.map((transaction, index) => (
      // A client may send one signature twice.
      <li key={index}>
        <CopyId name="signature" id={transaction.signature} isWhole />
        <span class={transaction.error === null ? 'muted' : 'muted is-danger-text'}>
          {transactionText(transaction, state, formatCount)}
          {explorerUrl !== undefined && (
            <>
              {' · '}
              <a
                href={explorerLink(explorerUrl, transaction.signature)}
                target="_blank"
                rel="noreferrer"
              >
                Explorer
                <span class="unseen"> for {transaction.signature}, opens a new tab</span>
              </a>
            </>
          )}
        </span>
      </li>
    ))}
  </ol>
)

const Facts = ({ submission }: { readonly submission: Submission }) => {
  const { answeredAtMs, bundleId, findings, location, network, receivedAtMs } = submission
  const facts: readonly (readonly [string, string])[] = [
    ['Location', location],
    ['Network', network],
    ...(answeredAtMs === null
      ? []
      : ([['Answered', `after ${formatCount(answeredAtMs - receivedAtMs)} ms`]] as const)),
    ...(findings === null ? [] : ([['Findings', findings]] as const)),
  ]
  return (
    <dl class="submission-facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
      <div>
        <dt>Submission</dt>
        <dd>
          <CopyId name="submission id" id={submission.submissionId} />
        </dd>
      </div>
      {bundleId !== null && (
        <div>
          <dt>Bundle</dt>
          <dd>
            <CopyId name="bundle id" id={bundleId} />
          </dd>
        </div>
      )}
    </dl>
  )
}

/** One submission, with all that is known of it. */
export const SubmissionItem = ({
  submission,
  explorerUrl,
}: {
  readonly submission: Submission
  readonly explorerUrl: string | undefined
}) => {
  const { reason, receivedAtMs, route, state, transactions } = submission
  const { tone, name, meaning } = STATES[state]
  return (
    <li class="submission">
      <div class="submission-head">
        <span class={`badge ${tone}`}>{name}</span>
        <code>{route}</code>
        <span class="muted">{meaning}</span>
        <time class="muted" dateTime={new Date(receivedAtMs).toISOString()}>
          {formatMoment(receivedAtMs)}
        </time>
      </div>
      {reason !== null && <p class="submission-reason">{reason}</p>}
      {transactions.length > 0 && (
        <Transactions submission={submission} explorerUrl={explorerUrl} />
      )}
      <Facts submission={submission} />
    </li>
  )
}
