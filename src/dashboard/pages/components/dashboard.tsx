import { useServices } from '../hooks/context.js'
import { useEvents } from '../hooks/use-events.js'
import { SkipLink } from './dashboard-states.js'
import { Header } from './header.js'
import { Locations } from './locations.js'
import { OperatorPage } from './operator/operator-page.js'
import { SessionsPage } from './sessions/sessions-page.js'
import { ResultNotice } from './connect/result-notice.js'
import { usePage } from '../lib/route.js'
import type { Session } from '../lib/wire.js'

/** The pages of a signed-in person. */
export const Dashboard = (options: {
  readonly session: Session
  /** Of a sign-in that was to renew the session. */
  readonly signInFailure: string | undefined
  readonly onDismiss: () => void
  readonly onSignOut: () => Promise<void>
}) => {
  const { session, signInFailure, onDismiss, onSignOut } = options
  const page = usePage()
  const { onSignedOut } = useServices()
  const events = useEvents(onSignedOut)
  return (
    <>
      <SkipLink />
      <Header session={session} page={page} onSignOut={onSignOut} />
      <main id="main" tabIndex={-1}>
        {signInFailure !== undefined && (
          <ResultNotice result={{ isGood: false, text: signInFailure }} onDismiss={onDismiss} />
        )}
        {page === 'sessions' && <SessionsPage />}
        {page === 'operator' && session.isOperator && <OperatorPage />}
        {page !== 'sessions' && !(page === 'operator' && session.isOperator) && (
          <Locations events={events} isEmailVerified={session.isEmailVerified} />
        )}
      </main>
    </>
  )
}
