import { serviceNow } from '../../lib/clock.js'
import { useState } from 'preact/hooks'
import { formatLocalTime, parseLocalTime } from '../../lib/format.js'
import { KEPT_MS, rangeMs, type Range } from '../../lib/usage/usage-series.js'

/** Moves the range of the chart through the time that is kept. `endMs` is undefined for now. */
export const PeriodBar = ({
  range,
  endMs,
  onEnd,
}: {
  readonly range: Range
  readonly endMs: number | undefined
  readonly onEnd: (endMs: number | undefined) => void
}) => {
  const nowMs = serviceNow()
  const [typed, setTyped] = useState<string>()
  const move = (toMs: number): void => {
    setTyped(undefined)
    onEnd(toMs >= nowMs ? undefined : Math.max(toMs, nowMs - KEPT_MS))
  }
  const isOldest = (endMs ?? nowMs) - rangeMs(range) <= nowMs - KEPT_MS
  return (
    <div class="period-bar" role="group" aria-label="Period">
      <button
        type="button"
        class="button"
        aria-disabled={isOldest}
        onClick={() => !isOldest && move((endMs ?? nowMs) - rangeMs(range))}
      >
        Earlier
      </button>
      <button
        type="button"
        class="button"
        aria-disabled={endMs === undefined}
        onClick={() => endMs !== undefined && move(endMs + rangeMs(range))}
      >
        Later
      </button>
      <label class="period-end">
        <span>Until</span>
        <input
          type="datetime-local"
          class="field"
          min={formatLocalTime(nowMs - KEPT_MS)}
          max={formatLocalTime(nowMs)}
          value={typed ?? formatLocalTime(endMs ?? nowMs)}
          onInput={event => setTyped(event.currentTarget.value)}
          onChange={event => {
            const toMs = parseLocalTime(event.currentTarget.value)
            if (toMs !== undefined) move(toMs)
          }}
          onBlur={() => setTyped(undefined)}
        />
      </label>
      {endMs !== undefined && (
        <button type="button" class="button" onClick={() => move(nowMs)}>
          Now
        </button>
      )}
    </div>
  )
}
