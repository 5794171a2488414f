import { useLayoutEffect, useRef } from 'preact/hooks'
import { saveReturn } from '../lib/return.js'

/** Sends a person whose sign-in is too old for an action to the identity provider and back. */
export const StepUpDialog = ({
  action,
  onClose,
}: {
  /** Offered again after the sign-in. */
  readonly action: string
  readonly onClose: () => void
}) => {
  const dialog = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog
      ref={dialog}
      aria-labelledby="step-up-title"
      aria-describedby="step-up-text"
      onClose={onClose}
    >
      <h2 id="step-up-title">Sign in again to continue</h2>
      <p id="step-up-text" class="dialog-text">
        Your sign-in is too old to reveal, make or replace a secret, or to add members. Enter your
        password again; you return to this page.
      </p>
      <div class="dialog-actions">
        <button type="button" class="button" onClick={() => dialog.current?.close()}>
          Cancel
        </button>
        <a
          class="button is-primary"
          href="/sign-in?prompt=login"
          onClick={() => saveReturn(action)}
        >
          Sign in again
        </a>
      </div>
    </dialog>
  )
}
