import { useState } from 'preact/hooks'
import { useServices } from '../../hooks/context.js'
import { Failure } from '../shared/failure.js'
import { MissingNote } from '../shared/missing-note.js'
import { StackedTable } from '../shared/stacked-table.js'
import { formatCount, formatMoment } from '../../lib/format.js'
import { useLoaded } from '../../hooks/use-loaded.js'
import type { FailedRequest } from '../../lib/wire.js'

/** How often the failed requests are loaded again. */
const REFRESH_MS = 10_000
const FIRST = 50
const ALL = 1_000

const COLUMNS = ['Code', 'Message', 'Refused by', 'From address', 'Place'] as const

const Row = ({ failure }: { readonly failure: FailedRequest }) => {
  const { atMs, method, code, text, origin, address, network, location } = failure
  const cells = [code, text, origin, address === '' ? '–' : address, `${network} · ${location}`]
  return (
    <tr>
      <th scope="row">
        {formatMoment(atMs)} <code class="sub">{method}</code>
      </th>
      {cells.map((cell, index) => (
        <td
          key={COLUMNS[index]}
          class={index === 1 ? 'is-wrapping' : undefined}
          data-label={COLUMNS[index]}
        >
          <div>{cell}</div>
        </td>
      ))}
    </tr>
  )
}

const FailureTable = ({ failures }: { readonly failures: readonly FailedRequest[] }) => (
  <StackedTable label="Failed requests" columns={['Time and method', ...COLUMNS]}>
    {failures.map((failure, index) => (
      <Row key={`${failure.atMs}-${index}`} failure={failure} />
    ))}
  </StackedTable>
)

/** The newest failed requests of an access. */
export const FailuresCard = ({ accessId }: { readonly accessId: string }) => {
  const { api } = useServices()
  const [limit, setLimit] = useState(FIRST)
  const { value, failure, reload } = useLoaded(
    `${accessId} ${limit}`,
    () => api.failures(accessId, limit),
    REFRESH_MS,
  )
  const failures = value?.failures
  return (
    <section class="card" aria-labelledby="failures-heading">
      <div class="card-head">
        <h2 id="failures-heading">Failed requests</h2>
        <p class="muted">All locations of {accessId}</p>
      </div>
      {failure !== undefined && <Failure message={failure} onRetry={() => void reload()} />}
      <MissingNote missing={value?.missing} />
      {failures !== undefined && failures.length === 0 && <p class="muted">No failed requests.</p>}
      {failures !== undefined && failures.length > 0 && <FailureTable failures={failures} />}
      {failures !== undefined && failures.length === FIRST && limit === FIRST && (
        <button type="button" class="button" onClick={() => setLimit(ALL)}>
          Show up to 1,000
        </button>
      )}
      {value !== undefined && value.leftOut > 0 && (
        <p class="muted">
          {formatCount(value.leftOut)} more came too fast to be listed; they are counted above.
        </p>
      )}
    </section>
  )
}
