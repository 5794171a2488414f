/** A segmented control. */
export const Segments = ({
  legend,
  options,
  chosen,
  onChoose,
}: {
  readonly legend: string
  readonly options: readonly { readonly id: string; readonly name: string }[]
  readonly chosen: string
  readonly onChoose: (id: string) => void
}) => (
  <fieldset class="segments">
    <legend class="unseen">{legend}</legend>
    {options.map(({ id, name }) => (
      <label key={id}>
        <input
          type="radio"
          name={`segments-${legend}`}
          checked={id === chosen}
          onChange={() => onChoose(id)}
        />
        <span>{name}</span>
      </label>
    ))}
  </fieldset>
)
