import type { IncidentView } from '../api/incidents/incident-shapes.js'

/** A time in which a location did not serve as it should. */
export type Outage = {
  /** What `/health` reported meanwhile, each once. */
  readonly reasons: readonly string[]
  readonly startedAtMs: number
  /** Null while it lasts. */
  readonly endedAtMs: number | null
}

type Span = {
  readonly reasons: readonly string[]
  readonly fromMs: number
  readonly untilMs: number
}

const join = (one: readonly string[], other: readonly string[]): readonly string[] => [
  ...new Set([...one, ...other]),
]

/** Times of one machine, the oldest first, none within another. */
const toSpans = (incidents: readonly IncidentView[]): readonly Span[] => {
  const spans: Span[] = []
  const sorted = incidents.toSorted((one, other) => one.startedAtMs - other.startedAtMs)
  for (const { reasons, startedAtMs, endedAtMs } of sorted) {
    const span = { reasons, fromMs: startedAtMs, untilMs: endedAtMs ?? Infinity }
    const last = spans.at(-1)
    // A restart of a process has no length: `/health` says whether the location served.
    if (span.untilMs <= span.fromMs) continue
    if (last === undefined || last.untilMs < span.fromMs) spans.push(span)
    else
      spans[spans.length - 1] = {
        reasons: join(last.reasons, reasons),
        fromMs: last.fromMs,
        untilMs: Math.max(last.untilMs, span.untilMs),
      }
  }
  return spans
}

/** Times that are in both lists, in linear time. */
const intersect = (some: readonly Span[], others: readonly Span[]): readonly Span[] => {
  const both: Span[] = []
  let at = 0
  let of = 0
  for (;;) {
    const [one, other] = [some[at], others[of]]
    if (one === undefined || other === undefined) return both
    const fromMs = Math.max(one.fromMs, other.fromMs)
    const untilMs = Math.min(one.untilMs, other.untilMs)
    if (fromMs < untilMs) both.push({ reasons: join(one.reasons, other.reasons), fromMs, untilMs })
    if (one.untilMs <= other.untilMs) at++
    else of++
  }
}

/**
 * When a location did not serve, oldest first: at once on all its machines, because a location is
 * as good as its best one. On a machine by itself, which has no name, whenever that did not.
 */
export const findOutages = (
  location: string,
  incidents: readonly IncidentView[],
  machines: readonly (string | null)[],
): readonly Outage[] => {
  const own = incidents.filter(incident => incident.location === location)
  const [first = [], ...rest] = machines.map(machine =>
    toSpans(own.filter(incident => incident.machine === machine)),
  )
  return rest.reduce(intersect, first).map(({ reasons, fromMs, untilMs }) => ({
    reasons,
    startedAtMs: fromMs,
    endedAtMs: untilMs === Infinity ? null : untilMs,
  }))
}

/** Percent of a time in which there was no outage, rounded down to three decimals. */
export const uptimeOf = (outages: readonly Outage[], fromMs: number, nowMs: number): number => {
  if (nowMs <= fromMs) return 100
  const downMs = outages.reduce(
    (sum, { startedAtMs, endedAtMs }) =>
      sum + Math.max(0, Math.min(endedAtMs ?? nowMs, nowMs) - Math.max(startedAtMs, fromMs)),
    0,
  )
  return Math.floor((1 - downMs / (nowMs - fromMs)) * 100_000) / 1_000
}
