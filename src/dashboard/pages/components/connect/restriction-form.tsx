import { ConfirmDialog } from './confirm-dialog.js'
import { SeenClientList } from './seen-clients.js'
import { Icon } from '../shared/icon.js'
import { useMayChange, useServices } from '../../hooks/context.js'
import { useLoaded } from '../../hooks/use-loaded.js'
import {
  useRestriction,
  type Restriction,
  type RestrictionOptions,
} from '../../hooks/use-restriction.js'

/** How often the addresses are loaded again. */
const REFRESH_MS = 10_000

const AddressForm = ({
  address,
  restriction,
}: {
  readonly address: string | null
  readonly restriction: Restriction
}) => {
  const { value, outcome, isWrong, isSaving, field, edit, save, useOwn } = restriction
  return (
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
      <button
        type="button"
        class="link-button"
        aria-disabled={isSaving}
        onClick={() => void useOwn()}
      >
        Use this browser’s address
      </button>
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
        to RPC, WebSocket and submissions with this token as soon as it is saved. Leave it blank to
        allow any address.
      </p>
    </form>
  )
}

/** Restricts a token to one address. The service validates it and says what is wrong. */
export const RestrictionForm = (options: RestrictionOptions) => {
  const { address, scope } = options
  const { api } = useServices()
  const mayChange = useMayChange()
  const restriction = useRestriction(options)
  const { value, confirmation, closeConfirmation } = restriction
  const seen = useLoaded('clients', () => api.clients(scope), REFRESH_MS)
  return (
    <section class="card" aria-labelledby="restriction-heading">
      <div class="card-head">
        <h2 id="restriction-heading">IPv4 restriction</h2>
        <span class={address === null ? 'badge is-none' : 'badge is-active'}>
          {address === null ? 'Any address' : `Only ${address}`}
        </span>
      </div>
      {mayChange && <AddressForm address={address} restriction={restriction} />}
      <SeenClientList loaded={seen} wanted={value.trim()} />
      {confirmation !== undefined && (
        <ConfirmDialog confirmation={confirmation} onClose={closeConfirmation} />
      )}
    </section>
  )
}
