import { serviceNow } from '../../lib/clock.js'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useServices } from '../../hooks/context.js'
import { toMessage, useLoaded } from '../../hooks/use-loaded.js'
import { formatMoment, formatPlural, formatSpan } from '../../lib/format.js'
import type { ListedSession } from '../../lib/wire.js'
import { ConfirmDialog, type Confirmation } from '../connect/confirm-dialog.js'
import { ResultNotice, type Result } from '../connect/result-notice.js'
import { Failure } from '../shared/failure.js'

/** How often the sessions are loaded again. */
const REFRESH_MS = 10_000

const nameOf = ({ browser }: ListedSession): string =>
  browser === '' ? 'Unknown browser' : browser

const lastUseOf = ({ seenAtMs }: ListedSession, nowMs: number): string =>
  nowMs - seenAtMs < 2 * 60_000 ? 'just now' : `${formatSpan(nowMs - seenAtMs)} ago`

const SessionRow = ({
  session,
  onEnd,
}: {
  readonly session: ListedSession
  readonly onEnd: () => void
}) => (
  <li class="session">
    <div>
      <h2>
        {nameOf(session)}
        {session.isCurrent && <span class="badge is-active">This browser</span>}
      </h2>
      <p class="muted">
        {session.address !== '' && (
          <>
            <code>{session.address}</code> ·{' '}
          </>
        )}
        Last used {lastUseOf(session, serviceNow())}
      </p>
      <p class="muted">
        Signed in {formatMoment(session.createdAtMs)} · ends {formatMoment(session.expiresAtMs)} if
        it is not used
      </p>
    </div>
    {!session.isCurrent && (
      <button type="button" class="button is-danger-quiet" onClick={onEnd}>
        End session
        <span class="unseen">
          {' '}
          of {nameOf(session)}, signed in {formatMoment(session.createdAtMs)}
        </span>
      </button>
    )}
  </li>
)

/** What the person confirms before all other sessions end. */
const CONFIRM_OTHERS = {
  title: 'End all other sessions?',
  effects: [
    'Every other browser that is signed in to this account must sign in again.',
    'Tokens keep working. This browser stays signed in.',
  ],
  action: 'End sessions',
}

/** The sessions of the person, to end those that they do not know. */
export const SessionsPage = () => {
  const { api, announce } = useServices()
  const { value, failure, reload } = useLoaded('sessions', api.sessions, REFRESH_MS)
  const [result, setResult] = useState<Result>()
  const [confirmation, setConfirmation] = useState<Confirmation>()
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = 'Sessions · Slotline'
    heading.current?.focus()
  }, [])

  const show = (isGood: boolean, text: string): void => {
    setResult({ isGood, text })
    announce(text)
  }
  const endOne = async (session: ListedSession): Promise<void> => {
    try {
      await api.endSession(session.sessionId)
      show(true, `The session of ${nameOf(session)} has ended.`)
    } catch (error) {
      show(false, toMessage(error))
    }
    await reload()
    // The button that was pressed is removed.
    heading.current?.focus()
  }
  const endOthers = async (): Promise<void> => {
    const { ended } = await api.endOtherSessions()
    show(true, `${formatPlural(ended, 'other session')} ended.`)
    await reload()
  }
  const close = (): void => {
    setConfirmation(undefined)
    heading.current?.focus()
  }
  const sessions = value?.sessions ?? []
  return (
    <section class="stack page" aria-labelledby="sessions-heading">
      <div class="card-head">
        <h1 id="sessions-heading" ref={heading} tabIndex={-1}>
          Sessions
        </h1>
        <button
          type="button"
          class="button is-danger-quiet"
          disabled={sessions.length < 2}
          onClick={() => setConfirmation({ ...CONFIRM_OTHERS, run: endOthers })}
        >
          End all other sessions
        </button>
      </div>
      <p class="muted">
        Browsers that are signed in to this account. End those that you do not know, and change your
        password at the identity provider.
      </p>
      {result !== undefined && (
        <ResultNotice result={result} onDismiss={() => setResult(undefined)} />
      )}
      {failure !== undefined && <Failure message={failure} onRetry={() => void reload()} />}
      {value === undefined && failure === undefined && (
        <div class="skeleton" role="status" aria-busy="true" aria-label="Loading" />
      )}
      {value !== undefined && (
        <ul class="card session-list">
          {sessions.map(session => (
            <SessionRow
              key={session.sessionId}
              session={session}
              onEnd={() => void endOne(session)}
            />
          ))}
        </ul>
      )}
      {confirmation !== undefined && <ConfirmDialog confirmation={confirmation} onClose={close} />}
    </section>
  )
}
