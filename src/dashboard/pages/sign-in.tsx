import { useEffect, useRef } from 'preact/hooks'

/** What somebody sees who is not, or no longer, signed in. */
export const SignIn = ({
  isExpired,
  onLeave,
}: {
  readonly isExpired: boolean
  readonly onLeave: () => void
}) => {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = 'Sign in · Slotline'
    // The page changed under the reader: what they were at is gone, so they are led to what is there now.
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
        <a class="button is-primary is-wide" href="/sign-in" onClick={onLeave}>
          {isExpired ? 'Sign in again' : 'Sign in'}
        </a>
      </section>
    </main>
  )
}
