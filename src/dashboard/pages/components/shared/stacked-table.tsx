import type { ComponentChildren } from 'preact'

/**
 * A table that scrolls by itself, and whose rows are stacked cells in a narrow window, where it is
 * shown whole.
 */
export const StackedTable = ({
  label,
  columns,
  isLong = false,
  children,
}: {
  readonly label: string
  readonly columns: readonly string[]
  /** It may have so many rows that it scrolls in a narrow window, too. */
  readonly isLong?: boolean
  /** Its rows. */
  readonly children: ComponentChildren
}) => (
  <div class={isLong ? 'scroll is-long' : 'scroll'} role="region" aria-label={label} tabIndex={0}>
    <table class="data is-stacked">
      <thead>
        <tr>
          {columns.map(name => (
            <th key={name} scope="col">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </div>
)

/** A row of figures: its name, and a cell for each column. */
export const FigureRow = ({
  name,
  columns,
  cells,
}: {
  readonly name: ComponentChildren
  readonly columns: readonly string[]
  readonly cells: readonly ComponentChildren[]
}) => (
  <tr>
    <th scope="row">{name}</th>
    {cells.map((cell, index) => (
      <td key={columns[index]} class="is-number" data-label={columns[index]}>
        <div>{cell}</div>
      </td>
    ))}
  </tr>
)
