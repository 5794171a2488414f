import type { Evidence, EvidenceQuery, Usage } from '../dashboard/api/usage.js'
import { LANE_FIGURE_NAMES } from '../usage/schema.js'
import { HOUR_MS, MINUTE_MS } from '../usage/scope.js'
import { meansOf, missingOf, toCounts, type Ask } from './usage.js'

/** Submissions whose end is known, and those that landed, in the hours of a time until now. */
const readLandings = async (
  ask: Ask,
  accessId: string,
  locations: readonly string[],
  windowMinutes: number,
  nowMs: number,
) => {
  const endMs = (Math.floor(nowMs / HOUR_MS) + 1) * HOUR_MS
  const lengthMs = windowMinutes * MINUTE_MS
  const time = [endMs - lengthMs, endMs, lengthMs]
  const found = await ask('landing', [accessId, ...time], locations)
  let known = 0
  let landed = 0
  for (const row of found.rows) {
    for (const name of LANE_FIGURE_NAMES) if (name !== 'unseen') known += row[name]
    landed += row.landed
  }
  return { windowMinutes, known, landed, ...missingOf(found) }
}

/** Asks what the rules of an access need: at most one question for each length of time. */
const readEvidence = async (
  ask: Ask,
  accessId: string,
  { locations, needsMeans, minutes, calls, landings }: EvidenceQuery,
  nowMs: number,
): Promise<Evidence & { readonly missing?: readonly string[] }> => {
  const end = Math.floor(nowMs / MINUTE_MS) + 1
  const endMs = end * MINUTE_MS
  const [used, recent, methods, landed] = await Promise.all([
    needsMeans ? ask('use', [accessId], locations) : undefined,
    minutes > 0 ? ask('recent', [accessId, end - minutes, end], locations) : undefined,
    Promise.all(
      calls.map(windowMinutes => {
        const lengthMs = windowMinutes * MINUTE_MS
        const time = [endMs - lengthMs, endMs, lengthMs, 1]
        return ask('calls', [accessId, '', '', ...time], locations)
      }),
    ),
    Promise.all(
      landings.map(windowMinutes => readLandings(ask, accessId, locations, windowMinutes, nowMs)),
    ),
  ])
  return {
    means: meansOf(used?.rows[0]),
    minutes: recent?.rows ?? [],
    calls: new Map(
      methods.map(({ rows }, index) => [calls[index] ?? 0, rows.map(row => toCounts(row))]),
    ),
    landings: new Map(landed.map(one => [one.windowMinutes, one])),
    ...missingOf(...[used, recent].filter(one => one !== undefined), ...methods, ...landed),
  }
}

/** What alert rules look at, of all machines that are asked. */
export const createEvidence =
  (ask: Ask, now: () => number): Usage['evidence'] =>
  (accessId, query) =>
    readEvidence(ask, accessId, query, now())
