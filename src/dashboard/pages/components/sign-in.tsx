import { useLayoutEffect, useRef } from 'preact/hooks'
import { Icon } from './shared/icon.js'

/** Shown to people who are not signed in. */
export const SignIn = ({
  isExpired,
  failure,
  onLeave,
}: {
  readonly isExpired: boolean
  /** Of the last sign-in, as a text. */
  readonly failure: string | undefined
  readonly onLeave: () => void
}) => {
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
