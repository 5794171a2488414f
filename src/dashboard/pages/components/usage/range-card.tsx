import { serviceNow } from '../../lib/clock.js'
import { formatZone } from '../../lib/format.js'
import { isByDay, isRange, RANGES, type Period } from '../../lib/usage/usage-series.js'
import { Segments } from '../shared/segments.js'
import { PeriodBar } from './period-bar.js'

const RANGE_OPTIONS = Object.entries(RANGES).map(([id, { name }]) => ({ id, name }))

/** The time that everything on the page is about. */
export const RangeCard = ({
  view,
  onChange,
}: {
  readonly view: Period
  readonly onChange: (view: Period) => void
}) => {
  const { id, range, end } = view
  const choose = (chosen: string): void => {
    // A chosen time that has ended: the range ends at its end.
    const last = id === undefined && end !== undefined && end < serviceNow() ? end - 1 : end
    if (isRange(chosen))
      onChange({ id: chosen, range: RANGES[chosen], end: id === undefined ? last : end })
  }
  return (
    <section class="card range-card is-whole" aria-label="Range">
      <div class="card-tools">
        <Segments legend="Range" options={RANGE_OPTIONS} chosen={id ?? ''} onChoose={choose} />
      </div>
      <PeriodBar view={view} onChange={onChange} />
      <p class="muted">
        {isByDay(range)
          ? 'Days are in UTC.'
          : `Times are in ${formatZone(serviceNow())}, on the whole page.`}
      </p>
    </section>
  )
}
