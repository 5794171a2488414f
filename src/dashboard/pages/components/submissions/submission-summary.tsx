import { useState } from 'preact/hooks'
import { useServices } from '../../hooks/context.js'
import { useLoaded } from '../../hooks/use-loaded.js'
import { stepsOf } from '../../hooks/use-usage-range.js'
import { serviceNow } from '../../lib/clock.js'
import { formatCount, formatDuration, formatMoment } from '../../lib/format.js'
import {
  columnsOf,
  formatSol,
  locationName,
  rateText,
  type SummaryColumn,
} from '../../lib/submission-text.js'
import { formatBucket } from '../../lib/usage/usage-format.js'
import { bucketMs, type Period, type Range } from '../../lib/usage/usage-series.js'
import type { Access, SubmissionSummary } from '../../lib/wire.js'
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
const STEPS: ReadonlyMap<number, string> = new Map([
  [1, 'minute'],
  [60, 'hour'],
  [1_440, 'day'],
])
const STEP = 10
const BAR = 8

/** What a column counts: `per minute`, `per 15 minutes`. */
const stepText = ({ bucketMinutes }: Range): string => {
  const name = STEPS.get(bucketMinutes)
  return name === undefined ? `per ${formatCount(bucketMinutes)} minutes` : `per ${name}`
}

const Bars = ({
  columns,
  top,
}: {
  readonly columns: readonly SummaryColumn[]
  readonly top: number
}) => {
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

/** Sent, and of those landed, by period. The table by time has the same numbers. */
const Chart = ({
  columns,
  range,
}: {
  readonly columns: readonly SummaryColumn[]
  readonly range: Range
}) => {
  const top = Math.max(1, ...columns.map(({ sent }) => sent))
  const [first, last] = [columns[0], columns.at(-1)]
  return (
    <figure class="summary-figure">
      <figcaption class="chart-readout">
        <strong>Submissions {stepText(range)}</strong>
        <span>
          <span class="swatch is-sent" aria-hidden="true" />
          Sent
        </span>
        <span>
          <span class="swatch is-landed" aria-hidden="true" />
          Landed
        </span>
      </figcaption>
      <div class="summary-axis" aria-hidden="true">
        <span>{formatCount(top)}</span>
        <span>0</span>
      </div>
      <Bars columns={columns} top={top} />
      <div class="summary-times" aria-hidden="true">
        <span>{first && formatBucket(first, range)}</span>
        <span>{last && formatBucket(last, range)}</span>
      </div>
    </figure>
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

/** The name of what has submissions, as the page shows it. */
const nameOf = (group: Group, name: string, locations: Access['locations']): string => {
  if (group === 'lanes' && name === '') return 'Several lanes'
  return group === 'locations' ? locationName(name, locations) : name
}

const rowsOf = (
  value: SubmissionSummary,
  group: Group,
  locations: Access['locations'],
): readonly (Figures & { name: string })[] =>
  group === 'periods'
    ? value.periods
        .toReversed()
        .map(period => Object.assign({ name: formatMoment(period.startMs) }, period))
    : value[group].map(row => Object.assign({}, row, { name: nameOf(group, row.name, locations) }))

/** Columns are shorter than what is kept of the time in which they begin. */
const areHours = (fromMs: number, { range }: Period): boolean =>
  bucketMs(range) < HOUR_MS && fromMs < serviceNow() - MINUTES_MS

/** How the submissions of an access went, of all its locations. */
export const SubmissionSummaryCard = ({
  access: { accessId, locations },
  view,
}: {
  readonly access: Pick<Access, 'accessId' | 'locations'>
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
          <Chart columns={columnsOf(value, bucketMs(view.range))} range={view.range} />
          <Segments
            legend="Table"
            options={GROUPS}
            chosen={group}
            onChoose={id => setGroup(GROUPS.find(one => one.id === id)?.id ?? 'routes')}
          />
          <StackedTable
            label="Landing as a table"
            columns={[chosen?.column ?? '', ...COLUMNS]}
            isLong={group === 'periods'}
          >
            {rowsOf(value, group, locations).map(row => (
              <Row key={row.name} name={row.name} of={row} />
            ))}
          </StackedTable>
        </>
      )}
    </section>
  )
}
