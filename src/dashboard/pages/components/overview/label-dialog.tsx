import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { useServices } from '../../hooks/context.js'
import { ApiFailure } from '../../lib/api.js'
import { toMessage } from '../../hooks/use-loaded.js'
import type { Access } from '../../lib/wire.js'

const WRONG =
  'A name is one line of at most 100 characters, without control characters and marks of direction.'

/** Longest label, as the service accepts it. */
const LABEL_MAX = 100

/** Asks for the name of an access. */
export const LabelDialog = ({
  access,
  onSaved,
  onClose,
}: {
  readonly access: Access
  readonly onSaved: () => Promise<void>
  readonly onClose: () => void
}) => {
  const { api, announce } = useServices()
  const dialog = useRef<HTMLDialogElement>(null)
  const [label, setLabel] = useState(access.label)
  const [failure, setFailure] = useState<string>()
  const [isSaving, setSaving] = useState(false)
  useLayoutEffect(() => dialog.current?.showModal(), [])

  const save = async (): Promise<void> => {
    if (isSaving) return
    setSaving(true)
    try {
      await api.relabel(access.accessId, label)
      await onSaved()
      announce('Name saved')
      dialog.current?.close()
    } catch (error) {
      const isWrong = error instanceof ApiFailure && error.code === 'wrongInput'
      setFailure(isWrong ? WRONG : toMessage(error))
      setSaving(false)
    }
  }
  return (
    <dialog ref={dialog} aria-labelledby="label-title" onClose={onClose}>
      <form
        onSubmit={event => {
          event.preventDefault()
          void save()
        }}
      >
        <h2 id="label-title">Name this access</h2>
        <p class="dialog-text">
          {access.product.name} · <code>{access.accessId}</code>
        </p>
        <label class="label-field">
          Name
          <input
            class="field"
            dir="auto"
            maxLength={LABEL_MAX}
            autoComplete="off"
            aria-invalid={failure !== undefined}
            aria-describedby="label-hint"
            value={label}
            onInput={event => setLabel(event.currentTarget.value)}
          />
        </label>
        <p id="label-hint" class="muted">
          It is shown instead of the product; leave it blank for none.
        </p>
        {failure !== undefined && (
          <p class="field-error" role="alert">
            {failure}
          </p>
        )}
        <div class="dialog-actions">
          <button type="button" class="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button class="button is-primary" aria-busy={isSaving}>
            Save
          </button>
        </div>
      </form>
    </dialog>
  )
}
