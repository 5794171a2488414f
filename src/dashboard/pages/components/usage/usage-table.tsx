import { formatCount, formatMinute } from '../../lib/format.js'
import { SERIES, type UsageBucket } from '../../lib/usage-series.js'

/** The data of the chart as a table, newest first. */
export const UsageTable = ({ buckets }: { readonly buckets: readonly UsageBucket[] }) => (
  <div class="scroll" role="region" aria-label="Requests as a table" tabIndex={0}>
    <table class="data">
      <thead>
        <tr>
          <th scope="col">From</th>
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
            <th scope="row">{formatMinute(bucket.startMs)}</th>
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
