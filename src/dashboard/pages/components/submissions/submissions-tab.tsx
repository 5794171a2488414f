import { useState } from 'preact/hooks'
import { useServices } from '../../hooks/context.js'
import { useLoaded } from '../../hooks/use-loaded.js'
import { usePaged } from '../../hooks/use-paged.js'
import { pickTimes, stepsOf, useUsageView } from '../../hooks/use-usage-range.js'
import { formatMoment } from '../../lib/format.js'
import { useQuery } from '../../lib/route.js'
import { toFilterQuery, toFilters, toListTimes } from '../../lib/submission-text.js'
import type { SubmissionFilters } from '../../lib/submission-text.js'
import type { Period } from '../../lib/usage/usage-series.js'
import type { Access, Submissions } from '../../lib/wire.js'
import { Failure } from '../shared/failure.js'
import { ExportButtons, ExportNotice, useExport } from '../shared/file-export.js'
import { ForMembers } from '../shared/managed.js'
import { MissingNote } from '../shared/missing-note.js'
import { RangeCard } from '../usage/range-card.js'
import { SubmissionFilterForm } from './submission-filter-form.js'
import { SubmissionItem } from './submission-item.js'
import { SubmissionSummaryCard } from './submission-summary.js'

/** How often submissions are loaded again. */
const REFRESH_MS = 3_000
/** Submissions on a page. */
const PAGE_COUNT = 25

/** Unix milliseconds at which a submission id was created: its first 48 bits. */
const timeOfId = (id: string): number => Number.parseInt(id.replace('-', '').slice(0, 12), 16)

const Empty = ({ isFiltered }: { readonly isFiltered: boolean }) =>
  isFiltered ? (
    <p class="muted">No submissions match.</p>
  ) : (
    <p class="muted">
      No submissions in the range of this page. What you send to <code>/lander</code>,{' '}
      <code>/relay</code> and the other submission routes under one of your RPC URLs is listed here.
    </p>
  )

const Pager = ({
  next,
  isPartial,
  isFirst,
  onNewest,
  onOlder,
}: {
  readonly next: string | null
  /** The search has not come to the end of what is stored. */
  readonly isPartial: boolean
  readonly isFirst: boolean
  readonly onNewest: () => void
  readonly onOlder: (before: string) => void
}) => (
  <div class="pager">
    {isPartial && next !== null && (
      <p class="muted">Searched back to {formatMoment(timeOfId(next))}.</p>
    )}
    {!isFirst && (
      <button type="button" class="button" onClick={onNewest}>
        Newest
      </button>
    )}
    {next !== null && (
      <button type="button" class="button" onClick={() => onOlder(next)}>
        Older
      </button>
    )}
  </div>
)

const List = ({
  value,
  locations,
}: {
  readonly value: Submissions
  readonly locations: Access['locations']
}) => {
  const explorers = new Map(value.explorers.map(({ network, url }) => [network, url]))
  return (
    <ul class="submissions" aria-label="Submissions">
      {value.submissions.map(submission => (
        <SubmissionItem
          key={submission.submissionId}
          submission={submission}
          locations={locations}
          explorerUrl={explorers.get(submission.network)}
        />
      ))}
    </ul>
  )
}

/** The submissions of an access, from sent to landed or expired. */
const SubmissionList = ({
  access: { accessId, locations },
  view,
}: {
  readonly access: Access
  readonly view: Period
}) => {
  const { api } = useServices()
  const [asked, ask] = useQuery()
  const filters = toFilters(asked)
  const searched = { ...toFilterQuery(filters), ...toListTimes(stepsOf(view)) }
  const list = JSON.stringify([accessId, searched])
  // Other filters, of the form or of the browser's history, begin with the newest.
  const [at, setAt] = useState({ list, before: '' })
  const before = at.list === list ? at.before : ''
  const setBefore = (id: string): void => setAt({ list, before: id })
  const query = {
    ...searched,
    limit: String(PAGE_COUNT),
    ...(before === '' ? {} : { before }),
  }
  const { value, failure, reload } = useLoaded(
    JSON.stringify([accessId, query]),
    () => api.submissions(accessId, query),
    REFRESH_MS,
  )
  const { page, isFirst, isLoading, top } = usePaged(list, before, value)
  const exported = useExport(accessId, 'submissions', searched)
  const filter = (changed: SubmissionFilters): void => {
    exported.close()
    ask({ ...pickTimes(asked), ...toFilterQuery(changed) })
  }
  const isFiltered = Object.keys(toFilterQuery(filters)).length > 0
  return (
    <section class="card" aria-labelledby="submissions-heading">
      <div class="card-head">
        <h2 id="submissions-heading">Submissions</h2>
        <p class="muted">All locations of {accessId}, by the time they were received</p>
        <ForMembers>
          <ExportButtons {...exported} />
        </ForMembers>
      </div>
      <ExportNotice {...exported} />
      <SubmissionFilterForm filters={filters} locations={locations} onChange={filter} />
      {failure !== undefined && <Failure message={failure} onRetry={() => void reload()} />}
      <MissingNote missing={page?.missing} />
      {page === undefined && failure === undefined && (
        <div class="skeleton" role="status" aria-busy="true" aria-label="Loading" />
      )}
      {page !== undefined && (
        <>
          <div
            class="page-of-list"
            ref={top}
            role="group"
            aria-label={isFirst ? 'Newest submissions' : 'Older submissions'}
            aria-busy={isLoading}
            tabIndex={-1}
          >
            {page.submissions.length === 0 ? (
              <Empty isFiltered={isFiltered} />
            ) : (
              <List value={page} locations={locations} />
            )}
          </div>
          <Pager
            next={page.next}
            isPartial={page.submissions.length < PAGE_COUNT}
            isFirst={isFirst}
            onNewest={() => setBefore('')}
            onOlder={setBefore}
          />
        </>
      )}
    </section>
  )
}

/** How the submissions of an access went, and each of them. */
export const SubmissionsTab = ({ access }: { readonly access: Access }) => {
  const [view, setView] = useUsageView('day')
  return (
    <div class="stack">
      <RangeCard view={view} onChange={setView} />
      <SubmissionSummaryCard access={access} view={view} />
      <SubmissionList access={access} view={view} />
    </div>
  )
}
