import { formatExactTime } from './format.js'
import type { Effect } from './wire.js'

/**
 * Where a former state of a token is dead, such as `dead on 3 of 3 machines at 12:00:01.234`; empty
 * on a machine by itself.
 */
export const toEffectText = (effect: Effect | undefined): string => {
  if (effect === undefined) return ''
  const { deadAtMs, deadByMs = 0, machines } = effect
  const noun = machines.length === 1 ? 'machine' : 'machines'
  const on = (count: number): string => `dead on ${count} of ${machines.length} ${noun}`
  if (deadAtMs !== undefined) return `${on(machines.length)} at ${formatExactTime(deadAtMs)}`
  const confirmed = machines.filter(({ by }) => by === 'confirmed').length
  return `${on(confirmed)}, and on all of them by ${formatExactTime(deadByMs)}`
}
