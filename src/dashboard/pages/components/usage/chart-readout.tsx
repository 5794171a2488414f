import { formatCount } from '../../lib/format.js'
import { formatBucket, formatBucketEnd } from '../../lib/usage/usage-format.js'
import { SERIES, type Range, type UsageBucket } from '../../lib/usage/usage-series.js'

/** The values of the column under the pointer. */
export const ChartReadout = ({
  bucket,
  range,
}: {
  readonly bucket: UsageBucket | undefined
  readonly range: Range
}) => {
  if (bucket === undefined) return <p class="chart-readout">{'\u00a0'}</p>
  return (
    <p class="chart-readout">
      <strong>
        {formatBucket(bucket, range)}
        {formatBucketEnd(bucket, range)}
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
