import { useState } from 'preact/hooks'
import type { TokenScope } from '../../lib/api.js'
import { useServices } from '../../hooks/context.js'
import { ChartReadout } from './chart-readout.js'
import { Failure } from '../shared/failure.js'
import { MissingNote } from '../shared/missing-note.js'
import { formatCount, formatMinute } from '../../lib/format.js'
import { PeriodBar } from './period-bar.js'
import { Segments } from '../shared/segments.js'
import { UsageChart } from './usage-chart.js'
import {
  isRange,
  RANGES,
  SERIES,
  toBuckets,
  totalOf,
  windowOf,
  type Range,
  type UsageBucket,
} from '../../lib/usage/usage-series.js'
import { UsageTable } from './usage-table.js'
import { useLoaded } from '../../hooks/use-loaded.js'

/** How often the usage is loaded again. */
const REFRESH_MS = 10_000

const RANGE_OPTIONS = Object.entries(RANGES).map(([id, { name }]) => ({ id, name }))
const VIEW_OPTIONS = [
  { id: 'chart', name: 'Chart' },
  { id: 'table', name: 'Table' },
]

/** The sums of the period; undefined until they are loaded. */
const Tiles = ({ buckets }: { readonly buckets: readonly UsageBucket[] | undefined }) => (
  <dl class="tiles">
    {SERIES.map(({ key, name }) => (
      <div key={key} class="tile">
        <dt>
          <span class={`swatch is-${key}`} aria-hidden="true" />
          {name}
        </dt>
        <dd>{buckets === undefined ? '–' : formatCount(totalOf(buckets, key))}</dd>
      </div>
    ))}
  </dl>
)

/** The chart and the values under the pointer. */
const ChartView = ({
  buckets,
  range,
  isQuiet,
}: {
  readonly buckets: readonly UsageBucket[]
  readonly range: Range
  readonly isQuiet: boolean
}) => {
  const [hovered, setHovered] = useState<number>()
  return (
    <>
      <div class="plot">
        <UsageChart buckets={buckets} range={range} onHover={setHovered} />
        {isQuiet && <p class="plot-empty">No requests in this period.</p>}
      </div>
      <ChartReadout bucket={hovered === undefined ? undefined : buckets[hovered]} range={range} />
    </>
  )
}

const TableView = (options: {
  readonly buckets: readonly UsageBucket[]
  readonly range: Range
}) => (
  <>
    <div class="plot">
      <UsageTable {...options} />
    </div>
    <ChartReadout bucket={undefined} range={options.range} />
  </>
)

/** Requests of a place over a period of the last 30 days. */
export const RequestsCard = ({ scope }: { readonly scope: TokenScope }) => {
  const { api } = useServices()
  const [range, setRange] = useState<Range>('hour')
  const [end, setEnd] = useState<number>()
  const [view, setView] = useState('chart')
  const { grain } = RANGES[range]
  const { value, failure, reload } = useLoaded(
    `${range} ${end ?? 'now'}`,
    () => api.usagePeriods(scope, grain, windowOf(range, end ?? Date.now())),
    REFRESH_MS,
  )
  const endMs = end ?? Date.now()
  const buckets = toBuckets(value?.periods ?? [], range, endMs)
  const lacksMinutes =
    grain === 'minute' && (value?.minutesFromMs ?? 0) > windowOf(range, endMs).fromMs
  const isQuiet = value !== undefined && SERIES.every(({ key }) => totalOf(buckets, key) === 0)
  return (
    <section class="card" aria-labelledby="usage-heading">
      <div class="card-head">
        <h2 id="usage-heading">Requests</h2>
        <div class="card-tools">
          <Segments
            legend="Range"
            options={RANGE_OPTIONS}
            chosen={range}
            onChoose={id => isRange(id) && setRange(id)}
          />
          <Segments legend="View" options={VIEW_OPTIONS} chosen={view} onChoose={setView} />
        </div>
      </div>
      <PeriodBar range={range} endMs={end} onEnd={setEnd} />
      {failure !== undefined && <Failure message={failure} onRetry={() => void reload()} />}
      <MissingNote missing={value?.missing} />
      <Tiles buckets={value && buckets} />
      {lacksMinutes && (
        <p class="muted">
          Of the time before {formatMinute(value?.minutesFromMs ?? 0)} some minutes are only kept as
          hours: choose 7 or 30 days.
        </p>
      )}
      {view === 'chart' ? (
        <ChartView buckets={buckets} range={range} isQuiet={isQuiet} />
      ) : (
        <TableView buckets={buckets} range={range} />
      )}
    </section>
  )
}
