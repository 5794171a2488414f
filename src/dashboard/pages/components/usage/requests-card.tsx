import { useState } from 'preact/hooks'
import { ChartReadout } from './chart-readout.js'
import { formatCount, formatMinute } from '../../lib/format.js'
import { Segments } from '../shared/segments.js'
import { TimeChart, type ChartSeries } from './time-chart.js'
import type { RangeUsage } from '../../lib/wire.js'
import { SERIES, totalOf, type Range, type UsageBucket } from '../../lib/usage/usage-series.js'
import { UsageTable } from './usage-table.js'

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

const DASHES = { errors: [], rateLimited: [6, 3], refused: [2, 3] } as const

const toSeries = (buckets: readonly UsageBucket[]): readonly ChartSeries[] =>
  SERIES.map(({ key }) => ({
    colour: key,
    // Zeros are no points: lines along the bottom would hide other values.
    values: buckets.map(bucket => (bucket[key] === 0 && key !== 'requests' ? null : bucket[key])),
    ...(key !== 'requests' && { dash: DASHES[key] }),
  }))

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
        <TimeChart
          name="requests"
          startsMs={buckets.map(({ startMs }) => startMs)}
          series={toSeries(buckets)}
          range={range}
          least={4}
          onHover={setHovered}
        />
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

/** Requests over time. */
export const RequestsCard = ({
  buckets,
  range,
  usage,
}: {
  readonly buckets: readonly UsageBucket[]
  readonly range: Range
  readonly usage: RangeUsage | undefined
}) => {
  const [view, setView] = useState('chart')
  const lacksMinutes =
    range.bucketMinutes < 60 && (usage?.minutesFromMs ?? 0) > (buckets[0]?.startMs ?? 0)
  const isQuiet = usage !== undefined && SERIES.every(({ key }) => totalOf(buckets, key) === 0)
  return (
    <section class="card" aria-labelledby="usage-heading">
      <div class="card-head">
        <h2 id="usage-heading">Requests</h2>
        <div class="card-tools">
          <Segments legend="View" options={VIEW_OPTIONS} chosen={view} onChoose={setView} />
        </div>
      </div>
      <Tiles buckets={usage && buckets} />
      {lacksMinutes && (
        <p class="muted">
          Of the time before {formatMinute(usage?.minutesFromMs ?? 0)} some minutes are only kept as
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
