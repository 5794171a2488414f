import type { ComponentChildren } from 'preact'
import { useServices } from '../../hooks/context.js'
import { timesOf, useUsageView } from '../../hooks/use-usage-range.js'
import { formatCount, formatMoment, formatPlural } from '../../lib/format.js'
import { rateText } from '../../lib/submission-text.js'
import { formatOperatorAccess, useQuery } from '../../lib/route.js'
import type { ServiceUsage, TopAccess } from '../../lib/wire.js'
import { MissingNote } from '../shared/missing-note.js'
import { Segments } from '../shared/segments.js'
import { FigureRow, StackedTable } from '../shared/stacked-table.js'
import { LandingTiles } from '../submissions/submission-summary.js'
import { RangeCards } from '../usage/range-cards.js'
import { LIMIT_ROWS, OverLimitCard } from '../usage/refused-by-limit.js'
import { Paged } from './paged.js'

const LandingCard = ({ of }: { readonly of: ServiceUsage['submissions'] | undefined }) => (
  <section class="card" aria-labelledby="landing-heading">
    <h2 id="landing-heading">Landing</h2>
    <p class="muted">
      What was sent and has ended, by the time of its receipt
      {of !== undefined && `, from ${formatMoment(of.fromMs)} to ${formatMoment(of.untilMs)}`}
    </p>
    <LandingTiles of={of} />
  </section>
)

const ORDERS = [
  { id: 'requests', name: 'Requests' },
  { id: 'errors', name: 'Errors' },
  { id: 'rateLimited', name: 'Over a limit' },
] as const
const COLUMNS = ['Requests', 'Errors', 'Over a limit', 'Landed'] as const

/** The time of the page as it is in the URL, where the page of an access has it too. */
type Times = Readonly<Record<string, string>>

const AccessName = ({
  of: { accessId, holder },
  times,
}: {
  readonly of: Pick<TopAccess, 'accessId' | 'holder'>
  readonly times: Times
}) => (
  <>
    {holder === null ? (
      accessId
    ) : (
      <a href={formatOperatorAccess(accessId, 'usage', times)}>
        <bdi>{holder.label === '' ? accessId : holder.label}</bdi>
      </a>
    )}
    {holder !== null && (
      <span class="sub">
        {holder.product} of <bdi>{holder.subject}</bdi> · {accessId}
      </span>
    )}
  </>
)

const OverLimits = ({ of }: { readonly of: TopAccess }) => (
  <>
    {formatCount(of.rateLimited)}
    {LIMIT_ROWS.filter(([name]) => of.overLimit[name] > 0).map(([name, text]) => (
      <span key={name} class="sub">
        {text}: {formatCount(of.overLimit[name])}
      </span>
    ))}
  </>
)

const Landed = ({ of }: { readonly of: TopAccess['submissions'] }) =>
  of.sent === 0 ? (
    <>–</>
  ) : (
    <>
      {rateText(of)}
      <span class="sub">
        {formatCount(of.landed)} of {formatCount(of.sent)}
      </span>
    </>
  )

const Row = ({ of, times }: { readonly of: TopAccess; readonly times: Times }) => {
  const cells: readonly ComponentChildren[] = [
    formatCount(of.requests),
    formatCount(of.errors),
    <OverLimits of={of} />,
    <Landed of={of.submissions} />,
  ]
  return <FigureRow name={<AccessName of={of} times={times} />} columns={COLUMNS} cells={cells} />
}

/** The accesses with most requests, errors or 429s in the time of the page. */
const TopCard = () => {
  const { api } = useServices()
  const [view] = useUsageView()
  const [query, setQuery] = useQuery()
  const by = ORDERS.find(({ id }) => id === query['by'])?.id ?? 'requests'
  const { by: _by, ...times } = query
  const choose = (id: string): void => {
    setQuery(id === 'requests' ? times : { ...times, by: id })
  }
  return (
    <section class="card is-whole" aria-labelledby="top-heading">
      <div class="card-head">
        <h2 id="top-heading">Top accesses</h2>
        <p class="muted">In whole hours; of more than 8 days, in days of UTC</p>
        <div class="card-tools">
          <Segments legend="Order" options={ORDERS} chosen={by} onChoose={choose} />
        </div>
      </div>
      <Paged
        name={JSON.stringify([view, by])}
        empty=""
        load={async after => {
          const found = await api.operatorTop({ ...timesOf(view), by, after })
          return { items: [found], next: found.next }
        }}
      >
        {pages =>
          pages.map(({ accesses, fromMs, untilMs, missing }) => (
            <div key={fromMs}>
              <MissingNote missing={missing} />
              <p class="muted">
                {accesses.length === 0
                  ? 'No access has any'
                  : formatPlural(accesses.length, 'access', 'accesses')}{' '}
                from {formatMoment(fromMs)} to {formatMoment(untilMs)}
              </p>
              <StackedTable label="Table of top accesses" columns={['Access', ...COLUMNS]}>
                {accesses.map(of => (
                  <Row key={of.accessId} of={of} times={times} />
                ))}
              </StackedTable>
            </div>
          ))
        }
      </Paged>
    </section>
  )
}

/** The service as a whole, and the accesses that use it most, in the time of the page. */
export const ServiceUsageView = () => {
  const { api } = useServices()
  return (
    <div class="stack is-columns">
      <RangeCards source={{ name: 'service', read: api.operatorUsage }}>
        {usage => (
          <>
            <OverLimitCard refused={usage?.overLimit} />
            <LandingCard of={usage?.submissions} />
            <TopCard />
          </>
        )}
      </RangeCards>
    </div>
  )
}
