import type { Catalog } from '../api/catalog.js'
import type { ListIncidents } from '../api/incidents/incidents.js'
import type { LocationView, MachineView } from '../api/shapes.js'
import { findOutages, uptimeOf } from './outages.js'
import type { Condition, Status } from './shapes.js'

/** Incidents that are shown, 100 bytes each. */
const SHOWN_MAX = 100
const DAY_MS = 86_400_000

/** What `/health` reports where a location serves, but not as it should. */
const DEGRADED: ReadonlySet<string> = new Set(['behind', 'incomplete', 'draining', 'unknown'])

/** The exact number of slots would show outsiders how the service is built. */
const SLOT_STEPS = [0, 10, 100, 1_000] as const

export type StatusParts = {
  readonly catalog: Pick<Catalog, 'location' | 'networkName'>
  readonly locationIds: readonly string[]
  readonly locationStates: (ids: readonly string[]) => readonly LocationView[]
  readonly machines?: (() => readonly MachineView[]) | undefined
  readonly incidents: ListIncidents
  /** Incidents that are kept; with as many, older ones may be lost. */
  readonly incidentsMax: number
  readonly incidentDaysMax: number
  readonly now: () => number
}

const conditionOf = (state: string): Condition => {
  if (state === 'ok') return 'operational'
  return DEGRADED.has(state) ? 'degraded' : 'down'
}

/** The worst of what an outage was. */
const worstOf = (reasons: readonly string[]): Condition =>
  reasons.some(reason => conditionOf(reason) === 'down') ? 'down' : 'degraded'

/** The machines of a location that have run; one without a name on a machine by itself. */
const machinesOf = (
  location: string,
  machines: readonly MachineView[] | undefined,
): readonly (string | null)[] =>
  machines === undefined
    ? [null]
    : machines
        .filter(machine => machine.location === location && machine.state !== 'not-started')
        .map(({ id }) => id)

/** Reads states and incidents of all locations: no name of a machine, no access, no count. */
export const createReadStatus =
  (parts: StatusParts): (() => Status) =>
  () => {
    const { catalog, incidents, incidentsMax, incidentDaysMax, locationIds, locationStates } = parts
    const nowMs = parts.now()
    const machines = parts.machines?.()
    const all = incidents({ limit: incidentsMax })
    const oldestMs = all.length < incidentsMax ? 0 : (all.at(-1)?.startedAtMs ?? 0)
    const sinceMs = Math.max(nowMs - incidentDaysMax * DAY_MS, oldestMs, 0)
    const found = locationStates(locationIds).map(({ id, state, slots }) => {
      const outages = findOutages(id, all, machinesOf(id, machines)).filter(
        ({ endedAtMs }) => (endedAtMs ?? nowMs) >= sinceMs,
      )
      return { id, state, slots, outages }
    })
    return {
      atMs: nowMs,
      sinceMs,
      locations: found.map(({ id, state, slots, outages }) => ({
        id,
        name: catalog.location(id)?.name ?? id,
        state: conditionOf(state),
        networks: slots.map(({ network, lag }) => ({
          id: network,
          name: catalog.networkName(network),
          slotsBehindMax: lag === null ? null : (SLOT_STEPS.find(most => lag <= most) ?? null),
        })),
        uptimePercent: uptimeOf(outages, sinceMs, nowMs),
      })),
      incidents: found
        .flatMap(({ id, outages }) =>
          outages.map(({ reasons, startedAtMs, endedAtMs }) => ({
            location: id,
            state: worstOf(reasons),
            startedAtMs,
            endedAtMs,
          })),
        )
        .toSorted((one, other) => other.startedAtMs - one.startedAtMs)
        .slice(0, SHOWN_MAX),
    }
  }
