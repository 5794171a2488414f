import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { useServices } from '../../hooks/context.js'
import { toMessage } from '../../hooks/use-loaded.js'
import { ApiFailure } from '../../lib/api.js'
import { SCOPE_TEXTS, type Scope } from './scope-texts.js'

const DAY_MS = 86_400_000
/** Days for which a key can be made. */
const DAYS = [7, 30, 90, 365] as const
const LABEL_MAX = 100

const Scopes = ({
  chosen,
  onChange,
}: {
  readonly chosen: readonly Scope[]
  readonly onChange: (scopes: readonly Scope[]) => void
}) => (
  <fieldset>
    <legend>The key may</legend>
    {SCOPE_TEXTS.map(([scope, text]) => (
      <label key={scope}>
        <input
          type="checkbox"
          checked={chosen.includes(scope)}
          onInput={event => {
            const others = chosen.filter(other => other !== scope)
            onChange(event.currentTarget.checked ? [...others, scope] : others)
          }}
        />{' '}
        {text} <code>{scope}</code>
        <br />
      </label>
    ))}
  </fieldset>
)

type Options = {
  readonly accessId: string
  readonly onMade: (secret: string) => Promise<void>
  readonly onClose: () => void
}

/** What is typed, and making the key of it. */
const useKeyForm = ({ accessId, onMade }: Pick<Options, 'accessId' | 'onMade'>) => {
  const { api, announce } = useServices()
  const dialog = useRef<HTMLDialogElement>(null)
  const [label, setLabel] = useState('')
  const [scopes, setScopes] = useState<readonly Scope[]>(['usage:read'])
  const [days, setDays] = useState(90)
  const [failure, setFailure] = useState<string>()
  const [isBusy, setBusy] = useState(false)

  const make = async (): Promise<void> => {
    if (isBusy) return
    if (label.trim() === '') return setFailure('Name the key.')
    if (scopes.length === 0) return setFailure('Choose what the key may do.')
    setBusy(true)
    try {
      const validUntilMs = Date.now() + days * DAY_MS
      const made = await api.makeKey(accessId, { label, scopes: [...scopes], validUntilMs })
      await onMade(made.secret)
      announce('Key made')
      dialog.current?.close()
    } catch (error) {
      setFailure(toMessage(error))
      setBusy(false)
      // The dialog that leads to another sign-in takes its place.
      if (error instanceof ApiFailure && error.code === 'signInTooOld') dialog.current?.close()
    }
  }
  return { dialog, label, setLabel, scopes, setScopes, days, setDays, failure, isBusy, make }
}

/** Asks for the name, the scopes and the end of a key, and makes it. */
export const KeyDialog = ({ accessId, onMade, onClose }: Options) => {
  const form = useKeyForm({ accessId, onMade })
  const { dialog, label, setLabel, scopes, setScopes, days, setDays, failure, isBusy, make } = form
  useLayoutEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog ref={dialog} aria-labelledby="key-title" onClose={onClose}>
      <form
        noValidate
        onSubmit={event => {
          event.preventDefault()
          void make()
        }}
      >
        <h2 id="key-title">Make an API key</h2>
        <label class="label-field">
          Name
          <input
            class="field"
            dir="auto"
            maxLength={LABEL_MAX}
            autoComplete="off"
            value={label}
            onInput={event => setLabel(event.currentTarget.value)}
          />
        </label>
        <Scopes chosen={scopes} onChange={setScopes} />
        <label class="label-field">
          Ends after
          <select
            class="field"
            value={String(days)}
            onChange={event => setDays(Number(event.currentTarget.value))}
          >
            {DAYS.map(count => (
              <option key={count} value={String(count)}>
                {count} days
              </option>
            ))}
          </select>
        </label>
        {failure !== undefined && (
          <p class="field-error" role="alert">
            {failure}
          </p>
        )}
        <div class="dialog-actions">
          <button type="button" class="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button class="button is-primary" aria-busy={isBusy}>
            Make key
          </button>
        </div>
      </form>
    </dialog>
  )
}
