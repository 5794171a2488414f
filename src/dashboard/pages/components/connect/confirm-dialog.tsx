import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { toMessage } from '../../hooks/use-loaded.js'

/** An action and its effects. */
export type Confirmation = {
  readonly title: string
  readonly effects: readonly string[]
  readonly action: string
  /** A choice that belongs to it. */
  readonly choice?: ComponentChildren
  /** The dialog closes when it resolves. */
  readonly run: () => Promise<void>
}

/**
 * Asks for confirmation of an action that cannot be undone. The native modal dialog keeps the focus
 * inside, closes on Escape, and returns the focus to the element that opened it.
 */
export const ConfirmDialog = ({
  confirmation,
  onClose,
}: {
  readonly confirmation: Confirmation
  readonly onClose: () => void
}) => {
  const dialog = useRef<HTMLDialogElement>(null)
  const cancel = useRef<HTMLButtonElement>(null)
  const [isRunning, setRunning] = useState(false)
  const [failure, setFailure] = useState<string>()

  useLayoutEffect(() => {
    dialog.current?.showModal()
    cancel.current?.focus()
  }, [])

  const confirm = async (): Promise<void> => {
    if (isRunning) return
    setRunning(true)
    setFailure(undefined)
    try {
      await confirmation.run()
      dialog.current?.close()
    } catch (error) {
      setFailure(toMessage(error))
      setRunning(false)
    }
  }
  return (
    <dialog
      ref={dialog}
      aria-labelledby="dialog-title"
      aria-describedby="dialog-effects"
      onClose={onClose}
      onCancel={event => isRunning && event.preventDefault()}
    >
      <h2 id="dialog-title">{confirmation.title}</h2>
      <ul id="dialog-effects">
        {confirmation.effects.map(effect => (
          <li key={effect}>{effect}</li>
        ))}
      </ul>
      {confirmation.choice}
      {failure !== undefined && (
        <p class="field-error" role="alert">
          {failure}
        </p>
      )}
      <div class="dialog-actions">
        <button
          ref={cancel}
          type="button"
          class="button"
          aria-disabled={isRunning}
          onClick={() => isRunning || dialog.current?.close()}
        >
          Cancel
        </button>
        <button
          type="button"
          class="button is-danger"
          aria-busy={isRunning}
          aria-disabled={isRunning}
          onClick={() => void confirm()}
        >
          {confirmation.action}
        </button>
      </div>
    </dialog>
  )
}
