import { useState } from 'preact/hooks'
import { formatDuration } from '../../lib/format.js'
import { formatBucket, formatBucketEnd } from '../../lib/usage/usage-format.js'
import { PERCENTILES, type LatencyBucket, type Range } from '../../lib/usage/usage-series.js'
import { Segments } from '../shared/segments.js'
import { FigureRow, StackedTable } from '../shared/stacked-table.js'
import { TimeChart, type ChartSeries } from './time-chart.js'

const VIEW_OPTIONS = [
  { id: 'chart', name: 'Chart' },
  { id: 'table', name: 'Table' },
]

const toText = (ms: number | null): string => (ms === null ? '–' : formatDuration(ms))

const toSeries = (buckets: readonly LatencyBucket[]): readonly ChartSeries[] =>
  PERCENTILES.map(({ key, colour, dash }) => ({
    ...{ colour, dash },
    values: buckets.map(bucket => bucket[key]),
  }))

const Readout = ({ bucket, range }: { bucket: LatencyBucket | undefined; range: Range }) => (
  <p class="chart-readout">
    <strong>
      {bucket === undefined
        ? 'Milliseconds'
        : `${formatBucket(bucket, range)}${formatBucketEnd(bucket, range)}`}
    </strong>
    {PERCENTILES.map(({ key, name, colour }) => (
      <span key={key}>
        <span class={`swatch is-${colour}`} aria-hidden="true" />
        {name}
        {bucket !== undefined && `: ${toText(bucket[key])}`}
      </span>
    ))}
  </p>
)

/** How long calls took, over time. */
export const LatencyCard = ({
  buckets,
  range,
  isQuiet,
}: {
  readonly buckets: readonly LatencyBucket[]
  readonly range: Range
  /** It is known that no call ran. */
  readonly isQuiet: boolean
}) => {
  const [view, setView] = useState('chart')
  const [hovered, setHovered] = useState<number>()
  const columns = PERCENTILES.map(({ name }) => name)
  return (
    <section class="card" aria-labelledby="latency-heading">
      <div class="card-head">
        <h2 id="latency-heading">Server-side latency, excluding the network</h2>
        <div class="card-tools">
          <Segments legend="Latency view" options={VIEW_OPTIONS} chosen={view} onChoose={setView} />
        </div>
      </div>
      {view === 'chart' ? (
        <>
          <div class="plot">
            <TimeChart
              name="latency"
              startsMs={buckets.map(({ startMs }) => startMs)}
              series={toSeries(buckets)}
              range={range}
              least={0}
              onHover={setHovered}
            />
            {isQuiet && <p class="plot-empty">No calls in this period.</p>}
          </div>
          <Readout bucket={hovered === undefined ? undefined : buckets[hovered]} range={range} />
        </>
      ) : (
        <StackedTable label="Latency as a table" columns={['From', ...columns]} isLong>
          {buckets
            .filter(({ p50Ms }) => p50Ms !== null)
            .toReversed()
            .map(bucket => (
              <FigureRow
                key={bucket.startMs}
                name={formatBucket(bucket, range)}
                columns={columns}
                cells={PERCENTILES.map(({ key }) => toText(bucket[key]))}
              />
            ))}
        </StackedTable>
      )}
    </section>
  )
}
