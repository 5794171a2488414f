import { useState } from 'preact/hooks'
import { serviceNow } from '../../lib/clock.js'
import { formatLocalTime, parseLocalTime } from '../../lib/format.js'
import { customPeriod } from '../../lib/usage/usage-format.js'
import { KEPT_MS, rangeMs, windowOf, type Period } from '../../lib/usage/usage-series.js'

/** A minute that is typed or chosen. */
const TimeField = ({
  label,
  valueMs,
  nowMs,
  onChange,
}: {
  readonly label: string
  readonly valueMs: number
  readonly nowMs: number
  readonly onChange: (atMs: number) => void
}) => {
  const [typed, setTyped] = useState<string>()
  return (
    <label class="period-end">
      <span>{label}</span>
      <input
        type="datetime-local"
        class="field"
        min={formatLocalTime(nowMs - KEPT_MS)}
        max={formatLocalTime(nowMs)}
        value={typed ?? formatLocalTime(valueMs)}
        onInput={event => setTyped(event.currentTarget.value)}
        onChange={event => {
          const toMs = parseLocalTime(event.currentTarget.value)
          if (toMs === undefined) return
          setTyped(undefined)
          onChange(toMs)
        }}
        onBlur={() => setTyped(undefined)}
      />
    </label>
  )
}

/** Moves the time of a page through what is kept, or chooses where it begins and ends. */
export const PeriodBar = ({
  view,
  onChange,
}: {
  readonly view: Period
  readonly onChange: (view: Period) => void
}) => {
  const { id, range, end } = view
  const nowMs = serviceNow()
  const firstMs = nowMs - KEPT_MS
  const lengthMs = rangeMs(range)
  const endMs = end ?? nowMs
  const { fromMs } = windowOf(view, nowMs)
  const move = (toMs: number): void => {
    if (id !== undefined)
      onChange({ ...view, end: toMs >= nowMs ? undefined : Math.max(toMs, firstMs) })
    else {
      const until = Math.max(Math.min(toMs, nowMs), firstMs)
      onChange(customPeriod(until - lengthMs, until))
    }
  }
  const begin = (atMs: number): void => {
    const from = Math.min(Math.max(atMs, firstMs), nowMs)
    onChange(customPeriod(from, from < endMs ? endMs : Math.min(from + lengthMs, nowMs)))
  }
  const finish = (atMs: number): void => {
    if (id === undefined && atMs > fromMs) onChange(customPeriod(fromMs, Math.min(atMs, nowMs)))
    else move(atMs)
  }
  const isOldest = endMs - lengthMs <= firstMs
  const isNewest = endMs >= nowMs
  return (
    <div class="period-bar" role="group" aria-label="Period">
      <button
        type="button"
        class="button"
        aria-disabled={isOldest}
        onClick={() => !isOldest && move(endMs - lengthMs)}
      >
        Earlier
      </button>
      <button
        type="button"
        class="button"
        aria-disabled={isNewest}
        onClick={() => !isNewest && move(endMs + lengthMs)}
      >
        Later
      </button>
      <TimeField label="From" valueMs={fromMs} nowMs={nowMs} onChange={begin} />
      <TimeField label="Until" valueMs={endMs} nowMs={nowMs} onChange={finish} />
      {id !== undefined && end !== undefined && (
        <button type="button" class="button" onClick={() => move(nowMs)}>
          Now
        </button>
      )}
    </div>
  )
}
