import { serviceNow } from '../../lib/clock.js'
import { reasonsOf, timesOf } from '../../lib/incidents.js'
import type { Incident } from '../../lib/wire.js'

/** Incidents, newest first. */
export const IncidentList = ({
  incidents,
  nameOf,
}: {
  readonly incidents: readonly Incident[]
  /** Names the location; empty if that is clear. */
  readonly nameOf: (incident: Incident) => string
}) => (
  <ul class="incidents">
    {incidents.map(incident => (
      <li key={incident.id}>
        <span class="incident-title">
          {nameOf(incident) !== '' && <strong>{nameOf(incident)}</strong>}
          {incident.machine !== null && <code>{incident.machine}</code>}
          <span>{reasonsOf(incident)}</span>
          {incident.endedAtMs === null && <span class="badge is-ended">Now</span>}
        </span>
        <span class="muted">{timesOf(incident, serviceNow())}</span>
      </li>
    ))}
  </ul>
)
