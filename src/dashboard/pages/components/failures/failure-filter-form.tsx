import { ORIGINS, type FailureFilters } from '../../lib/usage/failure-text.js'
import type { Access, FailureGroup } from '../../lib/wire.js'
import { Select, TypedFilter } from '../shared/filter-fields.js'

const ORIGIN_NAMES = Object.entries(ORIGINS)

const NO_FILTERS: FailureFilters = { method: '', code: '', location: '', address: '', origin: '' }

/** What the list of failed requests is limited to. */
export const FailureFilterForm = ({
  filters,
  locations,
  groups,
  onChange,
}: {
  readonly filters: FailureFilters
  readonly locations: Access['locations']
  /** Whose values are suggested. */
  readonly groups: readonly FailureGroup[]
  readonly onChange: (filters: FailureFilters) => void
}) => {
  const known = (part: 'method' | 'code' | 'address'): readonly string[] =>
    [...new Set(groups.map(group => String(group[part])))].filter(one => one !== '').toSorted()
  const typed = (part: 'method' | 'code' | 'address', label: string) => (
    <TypedFilter
      id={`failure-${part}`}
      label={label}
      value={filters[part]}
      known={known(part)}
      onChange={value => onChange({ ...filters, [part]: value })}
    />
  )
  return (
    <form
      class="filters"
      role="search"
      aria-label="Failed requests"
      onSubmit={event => event.preventDefault()}
    >
      {typed('method', 'Method')}
      {typed('code', 'Code')}
      {typed('address', 'From address')}
      <Select
        id="failure-location"
        label="Location"
        value={filters.location}
        options={locations.map(({ id, name }) => [id, name] as const)}
        onChange={location => onChange({ ...filters, location })}
      />
      <Select
        id="failure-origin"
        label="Refused by"
        value={filters.origin}
        options={ORIGIN_NAMES}
        onChange={origin => onChange({ ...filters, origin })}
      />
      {Object.values(filters).some(value => value !== '') && (
        <button type="button" class="button is-quiet" onClick={() => onChange(NO_FILTERS)}>
          Clear
        </button>
      )}
    </form>
  )
}
