import { serviceNow } from '../../lib/clock.js'
import { Failure } from '../shared/failure.js'
import { MissingNote } from '../shared/missing-note.js'
import { formatSpan } from '../../lib/format.js'
import type { Loaded } from '../../hooks/use-loaded.js'
import type { Client } from '../../lib/wire.js'

/** A complete address, of which the list says what a restriction to it does. */
const QUAD = /^\d+(\.\d+){3}$/

type SeenClients = {
  readonly clients: readonly Client[]
  readonly missing?: readonly string[] | undefined
}

/** The addresses that have used the token, and what a restriction to `wanted` means for each. */
export const SeenClientList = ({
  loaded: { value, failure, reload },
  wanted,
}: {
  readonly loaded: Loaded<SeenClients>
  readonly wanted: string
}) => (
  <div class="seen-clients">
    <h3>Addresses seen in the last 24 hours</h3>
    {failure !== undefined && <Failure message={failure} onRetry={() => void reload()} />}
    <MissingNote missing={value?.missing} />
    {value !== undefined && value.clients.length === 0 && (
      <p class="muted">None. The token was not used.</p>
    )}
    <ul aria-label="Addresses seen in the last 24 hours">
      {value?.clients.map(({ address, lastSeenMs }) => (
        <li key={address}>
          <code>{address}</code>
          <span class="muted">{formatSpan(serviceNow() - lastSeenMs)} ago</span>
          {QUAD.test(wanted) && (
            <span class={`badge ${address === wanted ? 'is-active' : 'is-ended'}`}>
              {address === wanted ? 'Stays allowed' : 'Would be refused'}
            </span>
          )}
        </li>
      ))}
    </ul>
  </div>
)
