/** A field for an integer, with its unit. */
export const NumberField = ({
  id,
  label,
  unit,
  value,
  range,
  onChange,
}: {
  readonly id: string
  readonly label: string
  readonly unit: string
  readonly value: number
  readonly range: { readonly min: number; readonly max: number }
  readonly onChange: (value: number) => void
}) => (
  <div class="filter">
    <label for={id}>
      {label} <span class="sub">({unit})</span>
    </label>
    <input
      id={id}
      class="field"
      type="number"
      required
      min={range.min}
      max={range.max}
      step={1}
      value={value}
      onInput={event => onChange(event.currentTarget.valueAsNumber)}
    />
  </div>
)
