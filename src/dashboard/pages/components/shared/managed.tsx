import type { ComponentChildren } from 'preact'
import { useMayChange, useRole } from '../../hooks/context.js'

/** Shows what people with a role in the access have, and operators who look at it do not. */
export const ForMembers = ({ children }: { readonly children: ComponentChildren }) =>
  useRole() === 'operator' ? null : <>{children}</>

/** Shows what only those who manage the access may do; it is disabled for those who view it. */
export const Managed = ({ children }: { readonly children: ComponentChildren }) => (
  <ForMembers>
    {useMayChange() ? (
      children
    ) : (
      <fieldset class="managed" disabled>
        {children}
      </fieldset>
    )}
  </ForMembers>
)

/** Says to those who view an access why much of its page is disabled. */
export const RoleNotice = () =>
  useRole() === 'view' ? (
    <div class="notice">
      <p>You may view this access: only its owner, and members who manage it, can change it.</p>
    </div>
  ) : null
