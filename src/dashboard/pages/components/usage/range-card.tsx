import { formatZone } from '../../lib/format.js'
import { isRange, RANGES } from '../../lib/usage/usage-series.js'
import type { UsageView } from '../../hooks/use-usage-range.js'
import { Segments } from '../shared/segments.js'
import { PeriodBar } from './period-bar.js'

const RANGE_OPTIONS = Object.entries(RANGES).map(([id, { name }]) => ({ id, name }))

/** What everything on the page is about: a time, and one location or all. */
export const RangeCard = ({
  view: { range, end, isWhole },
  placeName,
  onChange,
}: {
  readonly view: UsageView
  readonly placeName: string
  readonly onChange: (view: UsageView) => void
}) => (
  <section class="card range-card" aria-label="Range and scope">
    <div class="card-tools">
      <Segments
        legend="Range"
        options={RANGE_OPTIONS}
        chosen={range}
        onChoose={id => isRange(id) && onChange({ range: id, end, isWhole })}
      />
      <Segments
        legend="Scope"
        options={[
          { id: 'here', name: placeName },
          { id: 'all', name: 'Whole access' },
        ]}
        chosen={isWhole ? 'all' : 'here'}
        onChoose={id => onChange({ range, end, isWhole: id === 'all' })}
      />
    </div>
    <PeriodBar range={range} endMs={end} onEnd={next => onChange({ range, end: next, isWhole })} />
    <p class="muted">
      {range === 'month'
        ? 'Days are in UTC.'
        : `Times are in ${formatZone(Date.now())}, on the whole page.`}
    </p>
  </section>
)
