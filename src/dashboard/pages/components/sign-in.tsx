import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { SignInFailure } from '../../auth/sign-in-failure.js'
import { Icon } from './shared/icon.js'

/** Messages for failed sign-ins. */
const FAILURES: Readonly<Record<SignInFailure, string>> = {
  cancelled: 'The sign-in was cancelled.',
  expired: 'The sign-in took too long, or was started in another browser. Please try again.',
  failed: 'The sign-in failed. Please try again.',
  stale:
    'The identity provider did not ask for the password again. Sign out there, and sign in again.',
  unreachable: 'The identity provider does not respond. Please try again in a moment.',
  busy: 'Too many sign-ins are in progress. Please try again in a moment.',
  unconfigured: 'Sign-in is not available: this service has no identity provider.',
}

const hasFailed = (name: string | null): name is SignInFailure =>
  name !== null && Object.hasOwn(FAILURES, name)

/** Reads the failure of the last sign-in from the URL, and removes it from there. */
const takeFailure = (): string | undefined => {
  const name = new URLSearchParams(location.search).get('sign-in')
  if (location.search !== '') history.replaceState(null, '', `/${location.hash}`)
  return hasFailed(name) ? FAILURES[name] : undefined
}

/** Shown to people who are not signed in. */
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
    // The content was replaced, so the focus moves to the new heading.
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
            ? 'Sign in again to continue where you left off. Your tokens keep working.'
            : 'Generate, restrict and revoke the tokens of your Solana RPC endpoints, one for each location.'}
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
