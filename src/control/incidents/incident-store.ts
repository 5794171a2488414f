import type { ControlStore, IncidentRecord } from '../../access/store/control-store.js'

/** An incident with its id, which sorts by the time it began. */
export type Incident = IncidentRecord & { readonly id: string }

/** Which incidents are read. */
export type IncidentQuery = {
  /** Only of these locations; undefined: all, with those of no location. */
  readonly locations?: readonly string[] | undefined
  /** Only those that began before this one. */
  readonly before?: string | undefined
  readonly limit: number
}

/** A bounded list of incidents in control's store. */
export type Incidents = {
  /** Adds one; returns its id. On disk when it resolves. */
  add(incident: IncidentRecord): Promise<string>
  /** Replaces one. On disk when it resolves. */
  put(id: string, incident: IncidentRecord): Promise<void>
  /** Newest first. */
  list(query: IncidentQuery): readonly Incident[]
}

export type IncidentBounds = {
  readonly incidentsMax: number
  readonly incidentDaysMax: number
}

const DAY_MS = 86_400_000
const MS_DIGITS = 13

export const createIncidents = (parts: {
  readonly store: ControlStore
  readonly options: IncidentBounds
  readonly now: () => number
}): Incidents => {
  const { store, options, now } = parts
  const { incidents } = store

  /** The oldest go first; one that lasts is removed by their number only. */
  const makeRoom = (): void => {
    const oldestMs = now() - options.incidentDaysMax * DAY_MS
    const all = [...incidents.from('')]
    for (const [index, [id, { endedAtMs }]] of all.entries())
      if (index <= all.length - options.incidentsMax || (endedAtMs ?? Infinity) < oldestMs)
        incidents.remove(id)
  }
  const freeId = (startedAtMs: number): string => {
    const start = String(startedAtMs).padStart(MS_DIGITS, '0')
    for (let number = 0; ; number++) {
      const id = `${start}-${String(number).padStart(4, '0')}`
      if (incidents.get(id) === undefined) return id
    }
  }

  return {
    add: incident =>
      store.transaction(() => {
        makeRoom()
        const id = freeId(incident.startedAtMs)
        incidents.put(id, incident)
        return id
      }),
    put: (id, incident) => store.transaction(() => incidents.put(id, incident)),
    list: ({ locations, before, limit }) =>
      Array.from(incidents.from(''), ([id, incident]) => Object.assign({ id }, incident))
        .filter(({ id, location }) => {
          if (before !== undefined && id >= before) return false
          return locations === undefined || (location !== null && locations.includes(location))
        })
        .toReversed()
        .slice(0, limit),
  }
}
