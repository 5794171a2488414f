import { serviceNow } from '../lib/clock.js'
import { formatDay, formatPlural, formatSpan } from '../lib/format.js'
import { titleOf } from '../lib/overview.js'
import type { Access } from '../lib/wire.js'

/** Describes the validity of an access. */
const describeValidity = (access: Access, nowMs: number): string => {
  if (access.state === 'upcoming') return `Starts ${formatDay(access.validFromMs)}`
  if (access.state === 'ended') {
    const endMs = access.endedAtMs ?? access.validUntilMs
    return endMs === null ? 'Ended' : `Ended ${formatDay(endMs)}`
  }
  if (access.validUntilMs === null) return 'No end date'
  return `Until ${formatDay(access.validUntilMs)}, ${formatSpan(access.validUntilMs - nowMs)} left`
}

const NAMES = { pass: 'Pass', rental: 'Rental' } as const
const STATES = { active: 'Active', ended: 'Ended', upcoming: 'Not yet valid' } as const

/** Lists the passes and rentals of the person, to choose one. It scrolls in its own area. */
export const AccessList = ({
  accesses,
  chosen,
  query,
  onQuery,
  onChoose,
}: {
  /** Those that the query matches. */
  readonly accesses: readonly Access[]
  readonly query: string
  readonly onQuery: (query: string) => void
  readonly chosen: string | undefined
  readonly onChoose: (accessId: string) => void
}) => (
  <fieldset class="card chooser">
    <legend>Access</legend>
    <input
      type="search"
      class="field access-search"
      placeholder="Find an access or a location"
      aria-label="Find an access or a location"
      autoComplete="off"
      spellcheck={false}
      value={query}
      onInput={event => onQuery(event.currentTarget.value)}
    />
    <div class="access-list">
      {accesses.length === 0 && <p class="muted">No accesses match.</p>}
      {accesses.map(access => (
        <label key={access.accessId} class="option">
          <input
            type="radio"
            name="access"
            checked={access.accessId === chosen}
            onChange={() => onChoose(access.accessId)}
          />
          <span class="option-body">
            <span class="option-title">
              <bdi>{titleOf(access)}</bdi>
              <span class={`badge is-${access.state}`}>
                {access.state === 'active' ? NAMES[access.kind] : STATES[access.state]}
              </span>
            </span>
            {access.label !== '' && <span class="option-detail">{access.product.name}</span>}
            {access.role !== 'owner' && (
              <span class="option-detail">Shared with you to {access.role}</span>
            )}
            <span class="option-detail">{describeValidity(access, serviceNow())}</span>
            <span class="option-detail">
              <code>{access.accessId}</code>
              <span> · {formatPlural(access.tokens.length, 'token')}</span>
            </span>
          </span>
        </label>
      ))}
    </div>
  </fieldset>
)
