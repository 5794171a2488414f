import type { ComponentChildren } from 'preact'

type FilterProps = {
  readonly id: string
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
}

const Labelled = ({
  id,
  label,
  children,
}: Pick<FilterProps, 'id' | 'label'> & { readonly children: ComponentChildren }) => (
  <div class="filter">
    <label for={id}>{label}</label>
    {children}
  </div>
)

/** A filter with a few values, or any. */
export const Select = ({
  id,
  label,
  value,
  options,
  onChange,
}: FilterProps & {
  readonly options: readonly (readonly [value: string, name: string])[]
}) => (
  <Labelled id={id} label={label}>
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
  </Labelled>
)

/** A filter that is typed, and applied when it is left or with Enter; `known` are suggested. */
export const TypedFilter = ({
  id,
  label,
  value,
  known = [],
  onChange,
}: FilterProps & { readonly known?: readonly string[] }) => (
  <Labelled id={id} label={label}>
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
  </Labelled>
)
