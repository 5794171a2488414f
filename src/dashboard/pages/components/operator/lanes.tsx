import { useState } from 'preact/hooks'
import { useServices } from '../../hooks/context.js'
import { useLoaded } from '../../hooks/use-loaded.js'
import { formatCount, formatDuration, formatMoment, formatRate } from '../../lib/format.js'
import { rateText } from '../../lib/submission-text.js'
import type { LanePerformance, LaneState } from '../../lib/wire.js'
import { Failure } from '../shared/failure.js'
import { MissingNote } from '../shared/missing-note.js'
import { Segments } from '../shared/segments.js'
import { FigureRow, StackedTable } from '../shared/stacked-table.js'

const RANGES = [
  { id: '24', name: '24 hours' },
  { id: '168', name: '7 days' },
  { id: '720', name: '30 days' },
]

const COLUMNS = ['Sent', 'Landed', 'Not landed', 'Delay p50', 'p90', 'p99'] as const

type Performance = LanePerformance['tips'][number] | LanePerformance

/** What did not land, by why. */
const OTHERS = [
  ['failed', 'failed'],
  ['partlyLanded', 'partly landed'],
  ['expired', 'expired'],
  ['replaced', 'replaced'],
  ['refused', 'refused'],
  ['unseen', 'not known'],
] as const

const NotLanded = ({ of }: { readonly of: Performance }) => {
  const some = OTHERS.filter(([figure]) => of[figure] > 0)
  return (
    <>
      {formatCount(of.sent - of.landed)}
      {some.map(([figure, name]) => (
        <span key={figure} class="sub">
          {name}: {formatCount(of[figure])}
        </span>
      ))}
    </>
  )
}

const Delay = ({
  of,
  share,
}: {
  readonly of: Performance
  readonly share: 'p50' | 'p90' | 'p99'
}) => {
  const { delayMs, delaySlots } = of
  return (
    <>
      {delayMs === null ? '–' : formatDuration(delayMs[share])}
      {delaySlots !== null && <span class="sub">slots: {formatCount(delaySlots[share])}</span>}
    </>
  )
}

const tipName = ({
  tipFromLamports: from,
  tipUntilLamports: until,
}: LanePerformance['tips'][number]): string => {
  if (from === 0) return 'No tip'
  if (until === null) return `From ${formatCount(from)} lamports`
  return `${formatCount(from)} to ${formatCount(until - 1)} lamports`
}

const Row = ({ name, of }: { readonly name: string; readonly of: Performance }) => {
  const cells = [
    formatCount(of.sent),
    <>
      {rateText(of)}
      <span class="sub">{formatCount(of.landed)}</span>
    </>,
    <NotLanded of={of} />,
    <Delay of={of} share="p50" />,
    <Delay of={of} share="p90" />,
    <Delay of={of} share="p99" />,
  ]
  return <FigureRow name={name} columns={COLUMNS} cells={cells} />
}

const Lane = ({ of }: { readonly of: LanePerformance }) => {
  const name = of.lane === null ? 'Several lanes' : of.lane
  return (
    <>
      <h2>
        {name} <span class="muted">{of.network}</span>
      </h2>
      {of.lane === null && (
        <p class="muted">
          Raced on several lanes. Which of them landed a transaction is not on the chain.
        </p>
      )}
      <StackedTable label={`${name} on ${of.network}`} columns={['Tip', ...COLUMNS]}>
        <Row name="All" of={of} />
        {of.tips.map(tip => (
          <Row key={tip.tipFromLamports} name={tipName(tip)} of={tip} />
        ))}
      </StackedTable>
    </>
  )
}

const STATES: Readonly<Record<LaneState['state'], string>> = {
  up: 'Up',
  down: 'Down',
  throttled: 'Throttled',
}

const STATE_COLUMNS = ['State', 'Since', 'A second', 'In flight', 'Last answer'] as const

const StateRow = ({ of }: { readonly of: LaneState }) => {
  const { inFlight, last, lane, network, perSecond, perSecondMax, sinceMs, state } = of
  const cells = [
    STATES[state],
    formatMoment(sinceMs),
    <>
      {formatRate(perSecond)}
      <span class="sub">of {formatCount(perSecondMax)}</span>
    </>,
    formatCount(inFlight),
    last === null ? (
      '–'
    ) : (
      <>
        {last.outcome}
        <span class="sub">{formatMoment(last.atMs)}</span>
      </>
    ),
  ]
  return <FigureRow name={`${lane} (${network})`} columns={STATE_COLUMNS} cells={cells} />
}

/** How each lane of the machine is. */
const States = ({ states }: { readonly states: readonly LaneState[] }) => (
  <>
    <h2>State of this machine</h2>
    <StackedTable label="State of the lanes" columns={['Lane', ...STATE_COLUMNS]}>
      {states.map(of => (
        <StateRow key={`${of.network} ${of.lane}`} of={of} />
      ))}
    </StackedTable>
  </>
)

/** How submissions of all accesses went, by what alone had them. */
export const Lanes = () => {
  const { api } = useServices()
  const [hours, setHours] = useState('24')
  const { value, failure, reload } = useLoaded(`operator-lanes-${hours}`, () =>
    api.operatorLanes(hours),
  )
  return (
    <>
      <Segments legend="Range" options={RANGES} chosen={hours} onChoose={setHours} />
      <p class="muted">
        Submissions of all accesses that have ended, in the hours of their receipt. Delays are of
        those that landed, to their block.
      </p>
      {failure !== undefined && <Failure message={failure} onRetry={() => void reload()} />}
      <MissingNote missing={value?.missing} />
      {value !== undefined && value.states.length > 0 && <States states={value.states} />}
      {value !== undefined && value.lanes.length === 0 && (
        <p class="muted">No submissions in this time.</p>
      )}
      {value?.lanes.map(lane => (
        <Lane key={`${lane.network} ${lane.lane ?? ''}`} of={lane} />
      ))}
    </>
  )
}
