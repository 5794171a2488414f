import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { createApi } from '../lib/api.js'
import { ServicesProvider } from '../hooks/context.js'
import { Dashboard } from './dashboard.js'
import { Failure } from './shared/failure.js'
import { onTabMessage, notifyTabs } from '../lib/other-tabs.js'
import { SignIn } from './sign-in.js'
import { toMessage } from '../hooks/use-loaded.js'
import type { Session } from '../lib/wire.js'

type Phase =
  | { readonly kind: 'asking' | 'signed-out' | 'expired' }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'signed-in'; readonly session: Session }

/** Key of the saved route, to return to after the sign-in. It has ids only, no secrets. */
const RETURN_KEY = 'slotline.return'

/** Message to other tabs after a sign-out, so that no secret stays on any screen. */
const SIGNED_OUT = 'signed-out'
/** Message to other tabs after a sign-in: those that wait for one continue. */
const SIGNED_IN = 'signed-in'

const saveRoute = (): void => sessionStorage.setItem(RETURN_KEY, location.hash)

const restoreRoute = (): void => {
  const kept = sessionStorage.getItem(RETURN_KEY)
  sessionStorage.removeItem(RETURN_KEY)
  if (kept !== null && kept !== '' && location.hash === '') location.replace(kept)
}

/** The page: the dashboard of a signed-in person, or the sign-in. */
export const App = () => {
  const [phase, setPhase] = useState<Phase>({ kind: 'asking' })
  const [announcement, setAnnouncement] = useState('')
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
    return { api: createApi(onSignedOut), announce, onSignedOut }
  }, [])

  const start = async (): Promise<boolean> => {
    try {
      const session = await services.api.session()
      restoreRoute()
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
        <Dashboard key={phase.session.subject} session={phase.session} onSignOut={signOut} />
      )}
      {(phase.kind === 'signed-out' || phase.kind === 'expired') && (
        <SignIn isExpired={phase.kind === 'expired'} onLeave={saveRoute} />
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
      <div class="unseen" role="status" aria-live="polite">
        {announcement}
      </div>
    </ServicesProvider>
  )
}
