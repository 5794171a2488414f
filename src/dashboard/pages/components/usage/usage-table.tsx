import { formatCount } from '../../lib/format.js'
import { formatBucket } from '../../lib/usage/usage-format.js'
import { isByDay, SERIES, type Range, type UsageBucket } from '../../lib/usage/usage-series.js'

/** The data of the chart as a table, newest first. */
export const UsageTable = ({
  buckets,
  range,
}: {
  readonly buckets: readonly UsageBucket[]
  readonly range: Range
}) => (
  <div class="scroll is-long" role="region" aria-label="Requests as a table" tabIndex={0}>
    <table class="data">
      <thead>
        <tr>
          <th scope="col">{isByDay(range) ? 'Day (UTC)' : 'From'}</th>
          {SERIES.map(({ key, name }) => (
            <th key={key} scope="col" class="is-number">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {buckets.toReversed().map(bucket => (
          <tr key={bucket.startMs}>
            <th scope="row">{formatBucket(bucket, range)}</th>
            {SERIES.map(({ key }) => (
              <td key={key} class={bucket[key] === 0 ? 'is-number is-zero' : 'is-number'}>
                {formatCount(bucket[key])}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)
