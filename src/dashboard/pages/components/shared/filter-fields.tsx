import { formatLocalTime, parseLocalTime } from '../../lib/format.js'

/** A filter with a few values, or any. */
export const Select = ({
  id,
  label,
  value,
  options,
  onChange,
}: {
  readonly id: string
  readonly label: string
  readonly value: string
  readonly options: readonly (readonly [value: string, name: string])[]
  readonly onChange: (value: string) => void
}) => (
  <div class="filter">
    <label for={id}>{label}</label>
    <select
      id={id}
      class="field"
      value={value}
      onChange={event => onChange(event.currentTarget.value)}
    >
      <option value="">Any</option>
      {options.map(([option, name]) => (
        <option key={option} value={option}>
          {name}
        </option>
      ))}
    </select>
  </div>
)

/** A filter by time. */
export const Instant = ({
  id,
  label,
  value,
  onChange,
}: {
  readonly id: string
  readonly label: string
  /** Unix milliseconds; an empty text where it is not set. */
  readonly value: string
  readonly onChange: (value: string) => void
}) => (
  <div class="filter">
    <label for={id}>{label}</label>
    <input
      id={id}
      type="datetime-local"
      class="field"
      value={value === '' ? '' : formatLocalTime(Number(value))}
      onChange={event => onChange(String(parseLocalTime(event.currentTarget.value) ?? ''))}
    />
  </div>
)

/** A filter that is typed, and applied when it is left or with Enter; `known` are suggested. */
export const TypedFilter = ({
  id,
  label,
  value,
  known = [],
  onChange,
}: {
  readonly id: string
  readonly label: string
  readonly value: string
  readonly known?: readonly string[]
  readonly onChange: (value: string) => void
}) => (
  <div class="filter">
    <label for={id}>{label}</label>
    <input
      id={id}
      class="field"
      autoComplete="off"
      spellcheck={false}
      maxLength={45}
      list={`${id}-known`}
      value={value}
      onChange={event => onChange(event.currentTarget.value.trim())}
    />
    <datalist id={`${id}-known`}>
      {known.map(one => (
        <option key={one} value={one} />
      ))}
    </datalist>
  </div>
)
