import { serviceNow } from '../../lib/clock.js'
import { useEffect, useState } from 'preact/hooks'
import { formatExactTime } from '../../lib/format.js'
import type { ActivePanel } from '../../lib/wire.js'

/** How long a former token may work beside the new one. */
const CHOICES = [
  [0, 'Invalid immediately'],
  [60, 'Works for 1 minute'],
  [600, 'Works for 10 minutes'],
  [3_600, 'Works for 1 hour'],
] as const

export const OverlapChoice = ({
  seconds,
  onChange,
}: {
  readonly seconds: number
  readonly onChange: (seconds: number) => void
}) => (
  <div class="filter">
    <label for="overlap">Current token</label>
    <select
      id="overlap"
      class="field"
      value={String(seconds)}
      onChange={event => onChange(Number(event.currentTarget.value))}
    >
      {CHOICES.map(([value, name]) => (
        <option key={value} value={String(value)}>
          {name}
        </option>
      ))}
    </select>
  </div>
)

/** A former token that still works, until it ends. */
export const FormerToken = ({
  former: { tail, endsAtMs },
  onEnd,
}: {
  readonly former: NonNullable<ActivePanel['token']['former']>
  readonly onEnd: () => void
}) => {
  const [isOver, setOver] = useState(endsAtMs <= serviceNow())
  useEffect(() => {
    const timer = setTimeout(() => setOver(true), Math.max(0, endsAtMs - serviceNow()))
    return () => clearTimeout(timer)
  }, [endsAtMs])
  if (isOver) return null
  return (
    <div class="notice is-warning">
      <p>
        The former token <code>…{tail}</code> works until {formatExactTime(endsAtMs)}.
      </p>
      <button type="button" class="button" onClick={onEnd}>
        End it now
      </button>
    </div>
  )
}
