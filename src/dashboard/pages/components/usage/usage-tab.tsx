import { useState } from 'preact/hooks'
import type { TokenScope } from '../../lib/api.js'
import { useServices } from '../../hooks/context.js'
import { ChartReadout } from './chart-readout.js'
import { Failure } from '../shared/failure.js'
import { MissingNote } from '../shared/missing-note.js'
import { formatCount } from '../../lib/format.js'
import { LimitsCard } from './limits-card.js'
import { RefusedTable } from './refused-table.js'
import { Segments } from '../shared/segments.js'
import { UsageChart } from './usage-chart.js'
import { RANGES, SERIES, toBuckets, totalOf, type Range } from '../../lib/usage-series.js'
import { UsageTable } from './usage-table.js'
import { useLoaded } from '../../hooks/use-loaded.js'
import type { Access } from '../../lib/wire.js'

/** How often the usage is loaded again. */
const REFRESH_MS = 10_000

const RANGE_OPTIONS = Object.entries(RANGES).map(([id, { name }]) => ({ id, name }))
const VIEW_OPTIONS = [
  { id: 'chart', name: 'Chart' },
  { id: 'table', name: 'Table' },
]

const toRange = (id: string): Range => (id === 'day' || id === 'sixHours' ? id : 'hour')

/** Usage of a place in the last day, limits of the access, and refused attempts. */
export const UsageTab = ({
  access,
  scope,
}: {
  readonly access: Access
  readonly scope: TokenScope
}) => {
  const { api } = useServices()
  const { value, failure, reload } = useLoaded('usage', () => api.tokenUsage(scope), REFRESH_MS)
  const [range, setRange] = useState<Range>('hour')
  const [view, setView] = useState('chart')
  const [hovered, setHovered] = useState<number>()
  const buckets = toBuckets(value?.minutes ?? [], range, Date.now())
  const isQuiet = SERIES.every(({ key }) => totalOf(buckets, key) === 0)

  return (
    <div class="stack">
      <section class="card" aria-labelledby="usage-heading">
        <div class="card-head">
          <h2 id="usage-heading">Requests</h2>
          <div class="card-tools">
            <Segments
              legend="Range"
              options={RANGE_OPTIONS}
              chosen={range}
              onChoose={id => setRange(toRange(id))}
            />
            <Segments legend="View" options={VIEW_OPTIONS} chosen={view} onChoose={setView} />
          </div>
        </div>
        {failure !== undefined && <Failure message={failure} onRetry={() => void reload()} />}
        <MissingNote missing={value?.missing} />
        <dl class="tiles">
          {SERIES.map(({ key, name }) => (
            <div key={key} class="tile">
              <dt>
                <span class={`swatch is-${key}`} aria-hidden="true" />
                {name}
              </dt>
              <dd>{value === undefined ? '–' : formatCount(totalOf(buckets, key))}</dd>
            </div>
          ))}
        </dl>
        <div class="plot">
          {view === 'chart' ? (
            <UsageChart buckets={buckets} range={range} onHover={setHovered} />
          ) : (
            <UsageTable buckets={buckets} />
          )}
          {view === 'chart' && value !== undefined && isQuiet && (
            <p class="plot-empty">No requests in this period.</p>
          )}
        </div>
        <ChartReadout
          bucket={view === 'chart' && hovered !== undefined ? buckets[hovered] : undefined}
          range={range}
        />
      </section>
      <LimitsCard access={access} />
      <RefusedTable refused={value?.refused} replaced={value?.replaced} />
    </div>
  )
}
