import { useEffect, useState } from 'preact/hooks'
import { SUBMISSION_PATHS } from '../../../api/catalog.js'
import type { Access } from '../../lib/wire.js'
import { Select } from '../shared/filter-fields.js'
import { SUBMISSION_STATES } from '../../../../shared/submission-states.js'
import {
  isSignature,
  NO_FILTERS,
  STATES,
  type SubmissionFilters,
} from '../../lib/submission-text.js'

const ROUTES = SUBMISSION_PATHS.map(path => [path, path] as const)
const STATE_NAMES = SUBMISSION_STATES.map(state => [state, STATES[state].name] as const)

type FilterOptions = {
  readonly filters: SubmissionFilters
  readonly locations: Access['locations']
  readonly onChange: (filters: SubmissionFilters) => void
}

/** The filters that apply as they are chosen. */
const Choices = ({ filters, locations, onChange }: FilterOptions) => (
  <>
    <Select
      id="filter-route"
      label="Route"
      value={filters.route}
      options={ROUTES}
      onChange={route => onChange({ ...filters, route })}
    />
    <Select
      id="filter-state"
      label="State"
      value={filters.state}
      options={STATE_NAMES}
      onChange={state => onChange({ ...filters, state })}
    />
    <Select
      id="filter-location"
      label="Location"
      value={filters.location}
      options={locations.map(({ id, name }) => [id, name] as const)}
      onChange={location => onChange({ ...filters, location })}
    />
  </>
)

/** What the list of submissions is limited to. */
export const SubmissionFilterForm = ({ filters, locations, onChange }: FilterOptions) => {
  const [signature, setSignature] = useState(filters.signature)
  const [isWrong, setWrong] = useState(false)
  useEffect(() => setSignature(filters.signature), [filters.signature])
  const search = (): void => {
    const wanted = signature.trim()
    const canBe = wanted === '' || isSignature(wanted)
    setWrong(!canBe)
    if (canBe && wanted !== filters.signature) onChange({ ...filters, signature: wanted })
  }
  const isSet = Object.values(filters).some(value => value !== '')
  return (
    <form
      class="filters"
      role="search"
      aria-label="Submissions"
      noValidate
      onSubmit={event => {
        event.preventDefault()
        search()
      }}
    >
      <Choices filters={filters} locations={locations} onChange={onChange} />
      <div class="filter is-wide">
        <label for="filter-signature">Signature</label>
        <input
          id="filter-signature"
          class="field"
          autoComplete="off"
          spellcheck={false}
          maxLength={128}
          placeholder="Of any of its transactions"
          value={signature}
          aria-invalid={isWrong}
          aria-describedby="filter-problem"
          onInput={event => setSignature(event.currentTarget.value)}
          onChange={search}
        />
      </div>
      <button type="submit" class="button">
        Search
      </button>
      {isSet && (
        <button
          type="button"
          class="button is-quiet"
          onClick={() => {
            setSignature('')
            setWrong(false)
            onChange(NO_FILTERS)
          }}
        >
          Clear
        </button>
      )}
      <p id="filter-problem" class="field-error" role={isWrong ? 'alert' : undefined}>
        {isWrong && 'This is not a signature: 64 to 88 characters in base58.'}
      </p>
    </form>
  )
}
