import { useState } from 'preact/hooks'
import { formatCount, formatMoment } from '../../lib/format.js'
import {
  GROUPINGS,
  ORIGINS,
  sumGroups,
  type FailureFilters,
  type FailureSum,
  type Grouping,
} from '../../lib/usage/failure-text.js'
import type { FailureGroup } from '../../lib/wire.js'
import { Segments } from '../shared/segments.js'
import { FigureRow, StackedTable } from '../shared/stacked-table.js'

/** Groups that are shown. */
const SHOWN = 10

const OPTIONS = Object.entries(GROUPINGS).map(([id, { name }]) => ({ id, name }))
const COLUMNS = ['Failed requests', 'Last'] as const

const nameOf = (sum: FailureSum): string => {
  const { method, code, origin, address } = sum
  if (method === undefined) return address === '' ? 'Unknown address' : (address ?? '')
  const by = origin !== undefined && origin in ORIGINS ? ORIGINS[origin as 'limit'] : ''
  return `${method} ${code ?? ''} · ${by}`
}

/** How many failed requests there are of each kind; one of them leads to its requests. */
export const FailureGroups = ({
  groups,
  onChoose,
}: {
  readonly groups: readonly FailureGroup[]
  readonly onChoose: (filters: Partial<FailureFilters>) => void
}) => {
  const [grouping, setGrouping] = useState<Grouping>('call')
  const sums = sumGroups(groups, grouping)
  const choose = ({ count: _count, lastMs: _lastMs, ...filters }: FailureSum): void =>
    onChoose(filters)
  return (
    <>
      <Segments
        legend="Group failed requests by"
        options={OPTIONS}
        chosen={grouping}
        onChoose={id => setGrouping(id as Grouping)}
      />
      <StackedTable
        label="Groups of failed requests"
        columns={[GROUPINGS[grouping].name, ...COLUMNS]}
      >
        {sums.slice(0, SHOWN).map(sum => (
          <FigureRow
            key={nameOf(sum)}
            name={
              <button type="button" class="link-button" onClick={() => choose(sum)}>
                {nameOf(sum)}
              </button>
            }
            columns={COLUMNS}
            cells={[formatCount(sum.count), formatMoment(sum.lastMs)]}
          />
        ))}
      </StackedTable>
      {sums.length > SHOWN && (
        <p class="muted">{formatCount(sums.length - SHOWN)} more groups: use a filter.</p>
      )}
    </>
  )
}
