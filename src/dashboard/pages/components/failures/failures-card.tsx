import { useState } from 'preact/hooks'
import { useServices } from '../../hooks/context.js'
import { Failure } from '../shared/failure.js'
import { ExportButtons, ExportNotice, useExport } from '../shared/file-export.js'
import { ForMembers } from '../shared/managed.js'
import { MissingNote } from '../shared/missing-note.js'
import { toFilterQuery, toFilters, withFilters } from '../../lib/usage/failure-text.js'
import { formatCount } from '../../lib/format.js'
import { useLoaded } from '../../hooks/use-loaded.js'
import { stepsOf, useUsageView } from '../../hooks/use-usage-range.js'
import { useQuery } from '../../lib/route.js'
import type { Access } from '../../lib/wire.js'
import { FailureFilterForm } from './failure-filter-form.js'
import { FailureGroups } from './failure-groups.js'
import { FailureList } from './failure-list.js'
import { KeepParameters } from './keep-parameters.js'

/** How often the failed requests are loaded again. */
const REFRESH_MS = 10_000
const FIRST = 50
const ALL = 1_000

/** The failed requests of an access: how many of each kind, and the newest of them. */
export const FailuresCard = ({ access: { accessId, locations } }: { readonly access: Access }) => {
  const { api } = useServices()
  const [asked, ask] = useQuery()
  const filters = toFilters(asked)
  const [view] = useUsageView()
  const query = { ...toFilterQuery(filters), ...stepsOf(view) }
  const [limit, setLimit] = useState(FIRST)
  const { value, failure, reload } = useLoaded(
    JSON.stringify([accessId, query, limit]),
    () => api.failures(accessId, { ...query, limit: String(limit) }),
    REFRESH_MS,
  )
  const exported = useExport(accessId, 'failures', query)
  const isFiltered = Object.keys(toFilterQuery(filters)).length > 0
  const change = (changed: typeof filters): void => {
    exported.close()
    ask(withFilters(asked, changed))
  }
  return (
    <section class="card is-whole" aria-labelledby="failures-heading">
      <div class="card-head">
        <h2 id="failures-heading" tabIndex={-1}>
          Failed requests
        </h2>
        <p class="muted">All locations of {accessId}, in the range of this page</p>
        <ForMembers>
          <ExportButtons {...exported} />
        </ForMembers>
      </div>
      <ExportNotice {...exported} />
      <FailureFilterForm
        filters={filters}
        locations={locations}
        groups={value?.groups ?? []}
        onChange={change}
      />
      {failure !== undefined && <Failure message={failure} onRetry={() => void reload()} />}
      <MissingNote missing={value?.missing} />
      {value !== undefined && value.failures.length === 0 && (
        <p class="muted">
          {isFiltered
            ? 'No failed requests match.'
            : 'No failed requests in the range of this page.'}
        </p>
      )}
      {value !== undefined && value.failures.length > 0 && (
        <>
          <FailureGroups
            groups={value.groups}
            onChoose={chosen => change({ ...filters, ...chosen })}
          />
          <FailureList failures={value.failures} locations={locations} />
        </>
      )}
      {value?.failures.length === FIRST && limit === FIRST && (
        <button type="button" class="button" onClick={() => setLimit(ALL)}>
          Show up to 1,000
        </button>
      )}
      {value !== undefined && value.leftOut > 0 && (
        <p class="muted">
          {formatCount(value.leftOut)} more came too fast to be listed; they are counted above.
        </p>
      )}
      {value !== undefined && (
        <KeepParameters accessId={accessId} untilMs={value.paramsUntilMs} onChanged={reload} />
      )}
    </section>
  )
}
