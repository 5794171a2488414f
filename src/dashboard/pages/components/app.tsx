import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { createApi } from '../lib/api.js'
import { ServicesProvider } from '../hooks/context.js'
import { Dashboard } from './dashboard.js'
import { Failure } from './failure.js'
import { listenFor, tellTabs } from '../lib/other-tabs.js'
import { SignIn } from './sign-in.js'
import { toMessage } from '../hooks/use-loaded.js'
import type { Session } from '../lib/wire.js'

type Phase =
  | { readonly kind: 'asking' | 'signed-out' | 'expired' }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'signed-in'; readonly session: Session }

/**
 * Where the way to the identity provider and back must end again: a choice of ids, nothing secret.
 */
const RETURN_KEY = 'slotline.return'

/** What a tab says that has signed out: whoever signed out wants no secret left on any screen. */
const SIGNED_OUT = 'signed-out'

const keepPlace = (): void => sessionStorage.setItem(RETURN_KEY, location.hash)

const restorePlace = (): void => {
  const kept = sessionStorage.getItem(RETURN_KEY)
  sessionStorage.removeItem(RETURN_KEY)
  if (kept !== null && kept !== '' && location.hash === '') location.replace(kept)
}

/** The whole page: who is signed in decides what there is to see. */
export const App = () => {
  const [phase, setPhase] = useState<Phase>({ kind: 'asking' })
  const [said, setSaid] = useState('')
  const saidTwice = useRef(false)

  const services = useMemo(() => {
    const onSignedOut = (): void =>
      setPhase(old => ({
        kind: old.kind === 'signed-in' || old.kind === 'expired' ? 'expired' : 'signed-out',
      }))
    const announce = (text: string): void => {
      // A region that gets the same text again is not read again: an invisible mark makes it new.
      saidTwice.current = !saidTwice.current
      setSaid(saidTwice.current ? `${text}\u200b` : text)
    }
    return { api: createApi(onSignedOut), announce, onSignedOut }
  }, [])

  const start = async (): Promise<void> => {
    try {
      const session = await services.api.session()
      restorePlace()
      setPhase({ kind: 'signed-in', session })
    } catch (error) {
      setPhase(old => (old.kind === 'asking' ? { kind: 'failed', message: toMessage(error) } : old))
    }
  }
  useEffect(() => void start(), [])
  useEffect(() => listenFor(SIGNED_OUT, services.onSignedOut), [services])

  const signOut = async (): Promise<void> => {
    await services.api.signOut()
    location.hash = ''
    setPhase({ kind: 'signed-out' })
    tellTabs(SIGNED_OUT)
  }

  return (
    <ServicesProvider value={services}>
      {phase.kind === 'signed-in' && <Dashboard session={phase.session} onSignOut={signOut} />}
      {(phase.kind === 'signed-out' || phase.kind === 'expired') && (
        <SignIn isExpired={phase.kind === 'expired'} onLeave={keepPlace} />
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
        {said}
      </div>
    </ServicesProvider>
  )
}
