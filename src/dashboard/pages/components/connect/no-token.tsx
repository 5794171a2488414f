import { useMayChange } from '../../hooks/context.js'
import type { Access } from '../../lib/wire.js'
import { Icon } from '../shared/icon.js'

/** Why no token can be generated while the access is not active. */
const WHY_NOT: Partial<Record<Access['state'], string>> = {
  ended: 'This access has ended, so you cannot generate a token.',
  upcoming: 'This access is not valid yet, so you cannot generate a token.',
}

/** Panel of a location without a token. */
export const NoToken = ({
  access,
  locationName,
  isBusy,
  onGenerate,
}: {
  readonly access: Access
  readonly locationName: string
  readonly isBusy: boolean
  readonly onGenerate: () => void
}) => {
  const why = useMayChange()
    ? WHY_NOT[access.state]
    : 'Those who manage this access can generate a token.'
  return (
    <section class="card empty">
      <Icon name="key" />
      <h2>No token yet for {locationName}</h2>
      <p class="muted">
        {why ??
          'Generate one to get an RPC URL and a WebSocket URL that work at this location only.'}
      </p>
      <button
        type="button"
        class="button is-primary"
        disabled={why !== undefined}
        aria-disabled={isBusy}
        aria-busy={isBusy}
        onClick={onGenerate}
      >
        Generate token
      </button>
    </section>
  )
}
