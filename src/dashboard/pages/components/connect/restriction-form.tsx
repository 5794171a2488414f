import { useRef, useState } from 'preact/hooks'
import { ApiFailure, type TokenScope } from '../../lib/api.js'
import { useServices } from '../../hooks/context.js'
import { toEffectText } from '../../lib/effect-text.js'
import { Icon } from '../shared/icon.js'
import { toMessage } from '../../hooks/use-loaded.js'

type Outcome = { readonly isGood: boolean; readonly text: string }

type Options = {
  readonly scope: TokenScope
  readonly address: string | null
  readonly onChanged: () => Promise<void>
  readonly onOutdated: () => void
}

const useRestriction = ({ scope, address, onChanged, onOutdated }: Options) => {
  const { api, announce } = useServices()
  const [typed, setTyped] = useState<string>()
  const [outcome, setOutcome] = useState<Outcome>()
  const [isSaving, setSaving] = useState(false)
  const field = useRef<HTMLInputElement>(null)
  const value = typed ?? address ?? ''
  const isWrong = outcome !== undefined && !outcome.isGood

  const fail = (error: unknown): void => {
    if (error instanceof ApiFailure && (error.status === 404 || error.status === 409)) onOutdated()
    setOutcome({ isGood: false, text: toMessage(error) })
    field.current?.focus()
  }
  const save = async (wanted: string): Promise<void> => {
    if (isSaving) return
    setSaving(true)
    setOutcome(undefined)
    try {
      const effect = toEffectText(await api.restrict(scope, wanted))
      await onChanged()
      setTyped(undefined)
      const others = effect === '' ? '' : ` Other addresses: ${effect}.`
      const text =
        wanted === ''
          ? 'Restriction removed: any address may use this token.'
          : `Saved: only ${wanted} may use this token. WebSockets from other addresses are closed.${others}`
      setOutcome({ isGood: true, text })
      announce(text)
    } catch (error) {
      fail(error)
    }
    setSaving(false)
  }
  const edit = (text: string): void => {
    setTyped(text)
    setOutcome(undefined)
  }
  return { value, outcome, isWrong, isSaving, field, edit, save }
}

/** Restricts a token to one address. The service validates it and says what is wrong. */
export const RestrictionForm = (options: Options) => {
  const { address } = options
  const { value, outcome, isWrong, isSaving, field, edit, save } = useRestriction(options)
  return (
    <section class="card" aria-labelledby="restriction-heading">
      <div class="card-head">
        <h2 id="restriction-heading">IPv4 restriction</h2>
        <span class={address === null ? 'badge is-none' : 'badge is-active'}>
          {address === null ? 'Any address' : `Only ${address}`}
        </span>
      </div>
      <form
        noValidate
        onSubmit={event => {
          event.preventDefault()
          void save(value.trim())
        }}
      >
        <label for="restriction-address">Public IPv4 address</label>
        <div class="field-row">
          <input
            ref={field}
            id="restriction-address"
            class="field"
            inputMode="decimal"
            autoComplete="off"
            spellcheck={false}
            maxLength={256}
            placeholder="None: any address may use the token"
            value={value}
            aria-invalid={isWrong}
            aria-describedby="restriction-help restriction-outcome"
            onInput={event => edit(event.currentTarget.value)}
          />
          <button
            type="submit"
            class="button is-primary"
            aria-busy={isSaving}
            aria-disabled={isSaving}
          >
            Save
          </button>
          {address !== null && (
            <button
              type="button"
              class="button"
              aria-disabled={isSaving}
              onClick={() => {
                field.current?.focus()
                void save('')
              }}
            >
              Clear
            </button>
          )}
        </div>
        <p
          id="restriction-outcome"
          class={isWrong ? 'field-error' : 'field-good'}
          role={isWrong ? 'alert' : undefined}
        >
          {outcome !== undefined && <Icon name={isWrong ? 'warning' : 'check'} />}
          {outcome?.text}
        </p>
        <p id="restriction-help" class="muted">
          Your public egress address as the service sees it, after any NAT, VPN or proxy. It applies
          to RPC, WebSocket and submissions with this token as soon as it is saved. Leave it blank
          to allow any address.
        </p>
      </form>
    </section>
  )
}
