import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { createApi } from '../lib/api.js'
import { createLive } from '../hooks/live.js'
import { formatAccess } from '../lib/route.js'
import { restoreRoute, saveReturn, takeResumed } from '../lib/return.js'
import { takeFailure } from '../lib/sign-in-failures.js'
import { ServicesProvider } from '../hooks/context.js'
import { Dashboard } from './dashboard.js'
import { Failure } from './shared/failure.js'
import { onTabMessage, notifyTabs } from '../lib/other-tabs.js'
import { SignIn } from './sign-in.js'
import { StepUpDialog } from './step-up-dialog.js'
import { toMessage } from '../hooks/use-loaded.js'
import type { Session } from '../lib/wire.js'

type Phase =
  | { readonly kind: 'asking' | 'signed-out' | 'expired' }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'signed-in'; readonly session: Session }

/** Message to other tabs after a sign-out, so that no secret stays on any screen. */
const SIGNED_OUT = 'signed-out'
/** Message to other tabs after a sign-in: those that wait for one continue. */
const SIGNED_IN = 'signed-in'

/** The page: the dashboard of a signed-in person, or the sign-in. */
export const App = () => {
  const [phase, setPhase] = useState<Phase>({ kind: 'asking' })
  const [announcement, setAnnouncement] = useState('')
  const [signInFailure, setSignInFailure] = useState(takeFailure)
  const [refusedAction, setRefusedAction] = useState<string>()
  const isRepeated = useRef(false)

  const services = useMemo(() => {
    const onSignedOut = (): void =>
      setPhase(old => ({
        kind: old.kind === 'signed-in' || old.kind === 'expired' ? 'expired' : 'signed-out',
      }))
    const announce = (text: string): void => {
      // Screen readers do not repeat a region with the same text, so an invisible character makes
      // it different.
      isRepeated.current = !isRepeated.current
      setAnnouncement(isRepeated.current ? `${text}\u200b` : text)
    }
    const api = createApi({ onSignedOut, onSignInTooOld: setRefusedAction })
    return { api, live: createLive(), accessHref: formatAccess, announce, onSignedOut }
  }, [])

  const start = async (): Promise<boolean> => {
    try {
      const session = await services.api.session()
      restoreRoute()
      if (signInFailure !== undefined) takeResumed()
      setPhase({ kind: 'signed-in', session })
      return true
    } catch (error) {
      setPhase(old => (old.kind === 'asking' ? { kind: 'failed', message: toMessage(error) } : old))
      return false
    }
  }
  useEffect(() => {
    void start().then(isSignedIn => isSignedIn && notifyTabs(SIGNED_IN))
    return onTabMessage(SIGNED_IN, () => void start())
  }, [])
  useEffect(() => onTabMessage(SIGNED_OUT, services.onSignedOut), [services])

  const signOut = async (): Promise<void> => {
    const { providerUrl } = await services.api.signOut()
    location.hash = ''
    setPhase({ kind: 'signed-out' })
    notifyTabs(SIGNED_OUT)
    if (providerUrl !== null) location.assign(providerUrl)
  }

  return (
    <ServicesProvider value={services}>
      {phase.kind === 'signed-in' && (
        <Dashboard
          key={phase.session.subject}
          session={phase.session}
          signInFailure={signInFailure}
          onDismiss={() => setSignInFailure(undefined)}
          onSignOut={signOut}
        />
      )}
      {(phase.kind === 'signed-out' || phase.kind === 'expired') && (
        <SignIn
          isExpired={phase.kind === 'expired'}
          failure={signInFailure}
          onLeave={() => saveReturn()}
        />
      )}
      {phase.kind === 'failed' && (
        <main class="lone">
          <Failure
            message={phase.message}
            onRetry={() => {
              setPhase({ kind: 'asking' })
              void start()
            }}
          />
        </main>
      )}
      {phase.kind === 'signed-in' && refusedAction !== undefined && (
        <StepUpDialog action={refusedAction} onClose={() => setRefusedAction(undefined)} />
      )}
      <div class="unseen" role="status" aria-live="polite">
        {announcement}
      </div>
    </ServicesProvider>
  )
}
