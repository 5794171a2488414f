const number = new Intl.NumberFormat('en')
const rate = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })
const day = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short', year: 'numeric' })
const moment = new Intl.DateTimeFormat('en', {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
})
const clock = new Intl.DateTimeFormat('en', {
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
})

const shortDay = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short' })
const zone = new Intl.DateTimeFormat('en', { timeZoneName: 'shortOffset' })

const exactTime = new Intl.DateTimeFormat('en', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
  hourCycle: 'h23',
})

const percent = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1 })

export const formatPercent = (share: number): string => percent.format(share)
export const formatCount = (value: number): string => number.format(value)
/** Formats a rate, with one decimal below 10. */
export const formatRate = (value: number): string =>
  rate.format(value < 10 ? value : Math.round(value))
export const formatDay = (atMs: number): string => day.format(atMs)
export const formatMoment = (atMs: number): string => moment.format(atMs)
/** Formats a time of day with its milliseconds: `12:00:01.234`. */
export const formatExactTime = (atMs: number): string => exactTime.format(atMs)
export const formatClock = (atMs: number): string => clock.format(atMs)

/** Formats a day without its year: `Nov 25`. */
export const formatShortDay = (atMs: number): string => shortDay.format(atMs)
/** Formats a day and a minute: `Nov 25, 14:44`. */
export const formatMinute = (atMs: number): string =>
  `${formatShortDay(atMs)}, ${formatClock(atMs)}`
/** Names the time zone of the browser: `Europe/Berlin (GMT+1)`. */
export const formatZone = (atMs: number): string => {
  const { timeZone } = zone.resolvedOptions()
  const offset = zone.formatToParts(atMs).find(({ type }) => type === 'timeZoneName')?.value ?? ''
  return timeZone === 'UTC' ? timeZone : `${timeZone} (${offset})`
}

const duration = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 })

/** Formats a number of an axis: `0.002`, `1.25`, `1,500`. */
export const formatTick = (value: number): string => duration.format(value)

/** Formats milliseconds with their unit: `0.012 ms`, `34.5 ms`, `1.2 s`. */
export const formatDuration = (ms: number): string =>
  ms < 1_000 ? `${duration.format(ms)} ms` : `${duration.format(ms / 1_000)} s`

const utcDay = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short', timeZone: 'UTC' })

/** Formats a day of UTC without its year: `Nov 25`. */
export const formatUtcDay = (atMs: number): string => utcDay.format(atMs)

/** Formats a minute of the browser's time zone as a field of dates has it: `2026-11-25T14:44`. */
export const formatLocalTime = (atMs: number): string =>
  new Date(atMs - new Date(atMs).getTimezoneOffset() * 60_000).toISOString().slice(0, 16)

/** The time of the text of such a field; undefined if it is empty. */
export const parseLocalTime = (text: string): number | undefined => {
  const atMs = new Date(text).getTime()
  return Number.isNaN(atMs) ? undefined : atMs
}

const UNITS: readonly [ms: number, name: string][] = [
  [86_400_000, 'day'],
  [3_600_000, 'hour'],
  [60_000, 'minute'],
]

/** Formats a duration in its largest unit, such as `3 days` or `less than a minute`. */
export const formatSpan = (ms: number): string => {
  for (const [unitMs, name] of UNITS) {
    const count = Math.floor(ms / unitMs)
    if (count >= 1) return `${count} ${name}${count === 1 ? '' : 's'}`
  }
  return 'less than a minute'
}

/** Formats a count with its noun: `1 token`, `2 tokens`. */
export const formatPlural = (count: number, noun: string, plural = `${noun}s`): string =>
  `${formatCount(count)} ${count === 1 ? noun : plural}`
