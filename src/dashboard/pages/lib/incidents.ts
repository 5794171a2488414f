import { formatMoment, formatSpan } from './format.js'
import { HEALTHS } from './healths.js'
import type { Incident } from './wire.js'

const nameOf = (reason: string): string =>
  reason === 'process-restarted' ? 'Process restarted' : (HEALTHS[reason]?.[1] ?? reason)

/** Why a location did not serve: `Behind, then Not reachable`. */
export const reasonsOf = ({ reasons, detail }: Pick<Incident, 'reasons' | 'detail'>): string => {
  const names = reasons.map(nameOf).join(', then ')
  return detail === '' ? names : `${names}: ${detail}`
}

/** When it was, and for how long. */
export const timesOf = (
  { startedAtMs, endedAtMs }: Pick<Incident, 'startedAtMs' | 'endedAtMs'>,
  nowMs: number,
): string => {
  if (endedAtMs === startedAtMs) return formatMoment(startedAtMs)
  if (endedAtMs === null)
    return `since ${formatMoment(startedAtMs)}, for ${formatSpan(nowMs - startedAtMs)} so far`
  return `${formatMoment(startedAtMs)} to ${formatMoment(endedAtMs)}, for ${formatSpan(endedAtMs - startedAtMs)}`
}
