import type { ControlStore } from '../../access/store/control-store.js'
import type { ControlConfig } from '../../config/child-config.js'
import type { LocationView, MachineView } from '../../dashboard/api/shapes.js'
import type { Log } from '../../shared/log.js'
import type { EndedProcess } from './ended-process.js'
import { createIncidents, type Incidents } from './incident-store.js'
import { createIncidentWatch, type Observed } from './incident-watch.js'

/** Incidents of this service, and what records them. */
export type IncidentRecorder = {
  readonly incidents: Incidents
  /** Records that a process of this machine ended and is started again. */
  recordEnded(ended: EndedProcess): void
  close(): void
}

export type IncidentParts = {
  readonly store: ControlStore
  readonly locationStates: (ids: readonly string[]) => readonly LocationView[]
  /** The machines of the cluster; undefined of a machine by itself. */
  readonly machines: (() => readonly MachineView[]) | undefined
  readonly log: Log
  readonly now: () => number
}

/** Watches the locations of a machine by itself, or all machines of its cluster. */
export const openIncidents = (config: ControlConfig, parts: IncidentParts): IncidentRecorder => {
  const { store, locationStates, machines, log, now } = parts
  const options = config.dashboard
  const ids = config.locations.map(({ id }) => id)
  const incidents = createIncidents({ store, options, now })
  const observe = (): readonly Observed[] =>
    machines === undefined
      ? locationStates(ids).map(({ id, state }) => ({ location: id, machine: null, state }))
      : machines().map(({ id, location, state }) => ({ location, machine: id, state }))
  const watch = createIncidentWatch({
    incidents,
    observe,
    options,
    now,
    countMax: options.incidentsMax,
  })
  const onError = (error: unknown): void =>
    log.error({ err: error }, 'an incident was not recorded')
  const timer = setInterval(() => void watch.check().catch(onError), options.incidentCheckMs)

  const machine = config.cluster?.machine ?? null
  /** Every process but control serves all locations of its machine. */
  const locationsOf = ({ role }: EndedProcess): readonly (string | null)[] => {
    if (role === 'control') return [null]
    return config.cluster === undefined ? ids : [config.cluster.location]
  }
  return {
    incidents,
    recordEnded: ended => {
      const { atMs, process, reason } = ended
      const times = { startedAtMs: atMs, endedAtMs: atMs }
      const said = { reasons: ['process-restarted'], detail: `${process}: ${reason}` }
      for (const location of locationsOf(ended))
        incidents.add({ location, machine, ...said, ...times }).catch(onError)
    },
    close: () => clearInterval(timer),
  }
}
