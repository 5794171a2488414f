import { formatClock, formatCount, formatMinute, formatZone } from '../../lib/format.js'
import { RANGES, SERIES, type Range, type UsageBucket } from '../../lib/usage-series.js'

/** The values of the column under the pointer; the time zone of the chart where there is none. */
export const ChartReadout = ({
  bucket,
  range,
}: {
  readonly bucket: UsageBucket | undefined
  readonly range: Range
}) => {
  if (bucket === undefined)
    return <p class="chart-readout">Times are those of {formatZone(Date.now())}.</p>
  const endMs = bucket.startMs + RANGES[range].bucketMinutes * 60_000
  return (
    <p class="chart-readout">
      <strong>
        {formatMinute(bucket.startMs)} to {formatClock(endMs)}
      </strong>
      {SERIES.map(({ key, name }) => (
        <span key={key}>
          <span class={`swatch is-${key}`} aria-hidden="true" />
          {name}: {formatCount(bucket[key])}
        </span>
      ))}
    </p>
  )
}
