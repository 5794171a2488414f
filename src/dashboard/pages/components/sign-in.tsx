import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { SignInFailure } from '../../auth/sign-in-failure.js'
import { Icon } from './icon.js'

/** What to say of a way to the identity provider that led back without a session. */
const FAILURES: Readonly<Record<SignInFailure, string>> = {
  cancelled: 'The sign-in was cancelled.',
  expired: 'The sign-in took too long, or was begun in another window. Please try again.',
  failed: 'The sign-in did not work. Please try again.',
  unreachable: 'The identity provider does not answer. Please try again in a moment.',
  busy: 'Too many people are signing in at this moment. Please try again in a moment.',
  unconfigured: 'Nobody can sign in yet: this service has no identity provider.',
}

const hasFailed = (name: string | null): name is SignInFailure =>
  name !== null && Object.hasOwn(FAILURES, name)

/** Why the last sign-in came to nothing, as the address says it; the address then forgets it. */
const takeFailure = (): string | undefined => {
  const name = new URLSearchParams(location.search).get('sign-in')
  if (location.search !== '') history.replaceState(null, '', `/${location.hash}`)
  return hasFailed(name) ? FAILURES[name] : undefined
}

/** What somebody sees who is not, or no longer, signed in. */
export const SignIn = ({
  isExpired,
  onLeave,
}: {
  readonly isExpired: boolean
  readonly onLeave: () => void
}) => {
  const [failure] = useState(takeFailure)
  const heading = useRef<HTMLHeadingElement>(null)
  useLayoutEffect(() => {
    document.title = 'Sign in · Slotline'
    // The page changed under the reader: what they were at is gone, so they are led to what is
    // there now.
    if (isExpired) heading.current?.focus()
  }, [isExpired])
  return (
    <main class="lone">
      <section class="card sign-in">
        <img src="./mark.svg" alt="" width="48" height="48" />
        <h1 ref={heading} tabIndex={-1}>
          {isExpired ? 'Your session has ended' : 'Slotline'}
        </h1>
        <p class="muted">
          {isExpired
            ? 'Sign in again and you are back where you were. Your tokens keep working meanwhile.'
            : 'Create, restrict and revoke the tokens of your Solana RPC endpoints, one for each location.'}
        </p>
        {failure !== undefined && (
          <div class="notice is-danger" role="alert">
            <Icon name="warning" />
            <p>{failure}</p>
          </div>
        )}
        <a class="button is-primary is-wide" href="/sign-in" onClick={onLeave}>
          {isExpired ? 'Sign in again' : 'Sign in'}
        </a>
        <a class="quiet-link" href="/sign-in?prompt=login" onClick={onLeave}>
          Use another account
        </a>
      </section>
    </main>
  )
}
