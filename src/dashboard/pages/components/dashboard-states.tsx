/** Shown to a person without an access. */
export const NoAccess = ({ isEmailVerified }: { readonly isEmailVerified: boolean }) => (
  <section class="card empty">
    <h1>No access yet</h1>
    <p class="muted">
      Tokens belong to a pass that you own or to an active rental. This account has neither. If you
      expected one, check that you signed in with the account it was granted to, or ask the operator
      of this service.
    </p>
    {!isEmailVerified && (
      <p class="muted">
        Accesses that others share with you are not shown, because your identity provider does not
        say that it has verified your e-mail address.
      </p>
    )}
  </section>
)

/** Shown until the accesses are loaded. */
export const Skeleton = () => (
  <div class="columns" role="status" aria-busy="true" aria-label="Loading">
    <div class="skeleton is-tall" />
    <div class="skeleton is-taller" />
  </div>
)

/**
 * Moves the focus to the content. The URL fragment is the route, so the link must not change it.
 */
export const SkipLink = () => (
  <a
    class="skip"
    href="#main"
    onClick={event => {
      event.preventDefault()
      document.getElementById('main')?.focus()
    }}
  >
    Skip to the content
  </a>
)
