import { useState } from 'preact/hooks'
import { useServices } from '../../hooks/context.js'
import { useLoaded } from '../../hooks/use-loaded.js'
import { stepsOf } from '../../hooks/use-usage-range.js'
import { serviceNow } from '../../lib/clock.js'
import { formatCount, formatDuration, formatMoment, formatPercent } from '../../lib/format.js'
import { columnsOf, formatSol, type SummaryColumn } from '../../lib/submission-text.js'
import { bucketMs, type Period } from '../../lib/usage/usage-series.js'
import type { SubmissionSummary } from '../../lib/wire.js'
import { Failure } from '../shared/failure.js'
import { MissingNote } from '../shared/missing-note.js'
import { Segments } from '../shared/segments.js'
import { FigureRow, StackedTable } from '../shared/stacked-table.js'

type Figures = SubmissionSummary['total']

/** How often the figures are loaded again. */
const REFRESH_MS = 10_000
const HOUR_MS = 3_600_000
/** Minutes are kept for a day and an hour. */
const MINUTES_MS = 25 * HOUR_MS
const COLUMNS = ['Sent', 'Landed', 'Delay p50', 'Delay p99', 'Tips of landed'] as const
const GROUPS = [
  { id: 'routes', name: 'Routes', column: 'Route' },
  { id: 'locations', name: 'Locations', column: 'Location' },
  { id: 'lanes', name: 'Lanes', column: 'Lane' },
  { id: 'periods', name: 'Time', column: 'From' },
] as const
type Group = (typeof GROUPS)[number]['id']

const rateText = ({ landingRate }: Figures): string =>
  landingRate === null ? '–' : formatPercent(landingRate)
const slotsText = (slots: number): string =>
  slots === 1 ? '1 slot' : `${formatCount(slots)} slots`

const Delay = ({ of, share }: { readonly of: Figures; readonly share: 'p50' | 'p99' }) =>
  of.delayMs === null ? (
    <>–</>
  ) : (
    <>
      {formatDuration(of.delayMs[share])}
      {of.delaySlots !== null && <span class="sub">{slotsText(of.delaySlots[share])}</span>}
    </>
  )

/** How submissions went, in short. */
export const LandingTiles = ({ of }: { readonly of: Figures | undefined }) => {
  const tiles: [name: string, value: string, more: string][] =
    of === undefined
      ? ['Sent', 'Landed', 'Median delay', 'Tips of landed'].map(name => [name, '–', ''])
      : [
          ['Sent', formatCount(of.sent), ''],
          ['Landed', formatCount(of.landed), rateText(of)],
          [
            'Median delay',
            of.delayMs === null ? '–' : formatDuration(of.delayMs.p50),
            of.delaySlots === null ? '' : slotsText(of.delaySlots.p50),
          ],
          ['Tips of landed', `${formatSol(of.tippedLamports)} SOL`, ''],
        ]
  return (
    <dl class="tiles">
      {tiles.map(([name, value, more]) => (
        <div key={name} class="tile">
          <dt>{name}</dt>
          <dd>
            {value}
            {more !== '' && <span class="sub">{more}</span>}
          </dd>
        </div>
      ))}
    </dl>
  )
}

const HEIGHT = 72
const STEP = 10
const BAR = 8

/** Sent, and of those landed, by period. The table by time has the same numbers. */
const Chart = ({ columns }: { readonly columns: readonly SummaryColumn[] }) => {
  const top = Math.max(1, ...columns.map(({ sent }) => sent))
  const heightOf = (count: number): number => (count / top) * HEIGHT
  return (
    <svg
      class="summary-chart"
      viewBox={`0 0 ${columns.length * STEP} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`Chart of what was sent and landed, at most ${formatCount(top)} at a time`}
    >
      {columns.map(({ startMs, sent, landed }, index) => (
        <g key={startMs}>
          <title>{`${formatMoment(startMs)}: ${formatCount(landed)} of ${formatCount(sent)} landed`}</title>
          {[
            { count: sent, name: 'is-sent' },
            { count: landed, name: 'is-landed' },
          ].map(({ count, name }) => (
            <rect
              key={name}
              class={name}
              x={index * STEP}
              y={HEIGHT - heightOf(count)}
              width={BAR}
              height={heightOf(count)}
            />
          ))}
        </g>
      ))}
    </svg>
  )
}

const Row = ({ name, of }: { readonly name: string; readonly of: Figures }) => {
  const cells = [
    formatCount(of.sent),
    <>
      {formatCount(of.landed)}
      <span class="sub">{rateText(of)}</span>
    </>,
    <Delay of={of} share="p50" />,
    <Delay of={of} share="p99" />,
    `${formatSol(of.tippedLamports)} SOL`,
  ]
  return <FigureRow name={name} columns={COLUMNS} cells={cells} />
}

const rowsOf = (value: SubmissionSummary, group: Group): readonly (Figures & { name: string })[] =>
  group === 'periods'
    ? value.periods
        .toReversed()
        .map(period => Object.assign({ name: formatMoment(period.startMs) }, period))
    : value[group].map(row =>
        row.name === '' ? Object.assign({}, row, { name: 'Several lanes' }) : row,
      )

/** Columns are shorter than what is kept of the time in which they begin. */
const areHours = (fromMs: number, { range }: Period): boolean =>
  bucketMs(range) < HOUR_MS && fromMs < serviceNow() - MINUTES_MS

/** How the submissions of an access went, of all its locations. */
export const SubmissionSummaryCard = ({
  accessId,
  view,
}: {
  readonly accessId: string
  readonly view: Period
}) => {
  const { api } = useServices()
  const [group, setGroup] = useState<Group>('routes')
  const { value, failure, reload } = useLoaded(
    JSON.stringify(['summary', accessId, view]),
    () => api.submissionSummary(accessId, stepsOf(view)),
    REFRESH_MS,
  )
  const chosen = GROUPS.find(({ id }) => id === group)
  return (
    <section class="card" aria-labelledby="summary-heading">
      <div class="card-head">
        <h2 id="summary-heading">Landing</h2>
        <p class="muted">
          All locations: submissions that have ended, by the time they were received
        </p>
      </div>
      {failure !== undefined && <Failure message={failure} onRetry={() => void reload()} />}
      <MissingNote missing={value?.missing} />
      <LandingTiles of={value?.total} />
      {value !== undefined && areHours(value.fromMs, view) && (
        <p class="muted">
          More than a day ago only hours are counted, each at its beginning. The list below is to
          the millisecond.
        </p>
      )}
      {value !== undefined && value.total.sent > 0 && (
        <>
          <Chart columns={columnsOf(value, bucketMs(view.range))} />
          <Segments
            legend="Table"
            options={GROUPS}
            chosen={group}
            onChoose={id => setGroup(GROUPS.find(one => one.id === id)?.id ?? 'routes')}
          />
          <StackedTable label="Landing as a table" columns={[chosen?.column ?? '', ...COLUMNS]}>
            {rowsOf(value, group).map(row => (
              <Row key={row.name} name={row.name} of={row} />
            ))}
          </StackedTable>
        </>
      )}
    </section>
  )
}
