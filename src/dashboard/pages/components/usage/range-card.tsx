import { serviceNow } from '../../lib/clock.js'
import { formatZone } from '../../lib/format.js'
import { isRange, RANGES } from '../../lib/usage/usage-series.js'
import type { UsageView } from '../../hooks/use-usage-range.js'
import { Segments } from '../shared/segments.js'
import { PeriodBar } from './period-bar.js'

const RANGE_OPTIONS = Object.entries(RANGES).map(([id, { name }]) => ({ id, name }))

/** The time that everything on the page is about. */
export const RangeCard = ({
  view: { range, end },
  onChange,
}: {
  readonly view: UsageView
  readonly onChange: (view: UsageView) => void
}) => (
  <section class="card range-card is-whole" aria-label="Range">
    <div class="card-tools">
      <Segments
        legend="Range"
        options={RANGE_OPTIONS}
        chosen={range}
        onChoose={id => isRange(id) && onChange({ range: id, end })}
      />
    </div>
    <PeriodBar range={range} endMs={end} onEnd={next => onChange({ range, end: next })} />
    <p class="muted">
      {range === 'month'
        ? 'Days are in UTC.'
        : `Times are in ${formatZone(serviceNow())}, on the whole page.`}
    </p>
  </section>
)
