import { useState } from 'preact/hooks'
import { formatCount, formatDuration, formatExactTime, formatShortDay } from '../../lib/format.js'
import {
  explorerLink,
  formatSol,
  laneText,
  locationName,
  STATES,
  submissionText,
  transactionText,
} from '../../lib/submission-text.js'
import type { Access, Submission } from '../../lib/wire.js'
import { CopyId, shortId } from '../shared/copy-id.js'
import { Icon } from '../shared/icon.js'

type Transaction = Submission['transactions'][number]

const Tips = ({ tips }: Pick<Transaction, 'tips'>) => (
  <>
    {tips.map(({ account, lamports }, index) => (
      // A transaction may pay one account twice.
      <span key={index} class="muted">
        Tip of {formatSol(lamports)} SOL to <CopyId name="tip account" id={account} isWhole />
      </span>
    ))}
  </>
)

const Transactions = ({
  submission: { forwardedAtMs, state, transactions },
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
          {explorerUrl !== undefined && forwardedAtMs !== null && (
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
        <Tips tips={transaction.tips} />
      </li>
    ))}
  </ol>
)

const Lanes = ({ lanes }: Pick<Submission, 'lanes'>) => (
  <ul class="transactions" aria-label="Lanes">
    {lanes.map(one => (
      <li key={one.lane}>
        <code>{one.lane}</code>
        <span class="muted">{laneText(one, formatDuration)}</span>
      </li>
    ))}
  </ul>
)

/** A time, and how long after the receipt it was. */
const timeText = (atMs: number, receivedAtMs: number): string =>
  `${formatExactTime(atMs)}, after ${formatCount(atMs - receivedAtMs)} ms`

const factsOf = (
  submission: Submission,
  locations: Access['locations'],
): readonly (readonly [string, string])[] => {
  const { answeredAtMs, findings, forwardedAtMs, location, network } = submission
  const { receivedAtMs, receivedSlot } = submission
  const times = [
    ['Sent', forwardedAtMs],
    ['Answered', answeredAtMs],
  ] as const
  return [
    ['Location', locationName(location, locations)],
    ['Network', network],
    ['Received', `${formatShortDay(receivedAtMs)}, ${formatExactTime(receivedAtMs)}`],
    ['Slot at receipt', receivedSlot === null ? 'unknown' : formatCount(receivedSlot)],
    ...times.flatMap(([name, atMs]) =>
      atMs === null ? [] : [[name, timeText(atMs, receivedAtMs)] as const],
    ),
    ...(findings === null ? [] : [['Findings', findings] as const]),
  ]
}

/** All that is known of a submission. */
const Details = ({
  submission,
  locations,
  explorerUrl,
}: {
  readonly submission: Submission
  readonly locations: Access['locations']
  readonly explorerUrl: string | undefined
}) => {
  const { bundleId, lanes, reason, state, transactions } = submission
  return (
    <div class="failure-details">
      <p class="muted">{STATES[state].meaning}.</p>
      {reason !== null && <p class="submission-reason">{reason}</p>}
      {transactions.length > 0 && (
        <Transactions submission={submission} explorerUrl={explorerUrl} />
      )}
      {lanes.length > 0 && <Lanes lanes={lanes} />}
      <dl class="submission-facts">
        {factsOf(submission, locations).map(([name, value]) => (
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
    </div>
  )
}

/** One submission: a line that opens to all that is known of it. */
export const SubmissionItem = ({
  submission,
  locations,
  explorerUrl,
}: {
  readonly submission: Submission
  readonly locations: Access['locations']
  readonly explorerUrl: string | undefined
}) => {
  const [isOpen, setOpen] = useState(false)
  const { receivedAtMs, route, state, transactions } = submission
  const { tone, name } = STATES[state]
  const [first] = transactions
  return (
    <li class="submission">
      <button
        type="button"
        class="failure-row"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        <time dateTime={new Date(receivedAtMs).toISOString()}>
          {formatShortDay(receivedAtMs)} {formatExactTime(receivedAtMs)}
        </time>
        <span class={`badge ${tone}`}>{name}</span>
        <code>{route}</code>
        <span class="failure-text">{submissionText(submission, formatCount)}</span>
        {first !== undefined && <code>{shortId(first.signature)}</code>}
        <Icon name={isOpen ? 'up' : 'down'} />
      </button>
      {isOpen && <Details {...{ submission, locations, explorerUrl }} />}
    </li>
  )
}
