import { serviceNow } from '../../lib/clock.js'
import { useServices } from '../../hooks/context.js'
import { useLoaded } from '../../hooks/use-loaded.js'
import { reasonsOf, timesOf } from '../../lib/incidents.js'
import type { Access, Incident } from '../../lib/wire.js'
import { Failure } from '../shared/failure.js'
import { IncidentList } from './incident-list.js'

/** How often incidents are loaded again. */
const REFRESH_MS = 10_000

/** Says that a location does not serve now. */
export const LastingIncident = ({
  accessId,
  location,
}: {
  readonly accessId: string
  readonly location: { readonly id: string; readonly name: string }
}) => {
  const { api } = useServices()
  const { value } = useLoaded(accessId, () => api.incidents(accessId), REFRESH_MS)
  const lasting = value?.incidents.find(
    one => one.location === location.id && one.endedAtMs === null,
  )
  if (lasting === undefined) return null
  return (
    <div class="notice is-warning" role="status">
      <p>
        {location.name} is degraded: {reasonsOf(lasting)}, {timesOf(lasting, serviceNow())}.
      </p>
    </div>
  )
}

/** The newest incidents of the locations of an access. */
export const AccessIncidents = ({
  access: { accessId, locations },
}: {
  readonly access: Pick<Access, 'accessId' | 'locations'>
}) => {
  const { api } = useServices()
  const { value, failure, reload } = useLoaded(accessId, () => api.incidents(accessId), REFRESH_MS)
  const nameOf = ({ location }: Incident): string =>
    locations.find(({ id }) => id === location)?.name ?? location ?? ''
  const incidents = value?.incidents ?? []
  return (
    <section class="card" aria-labelledby="incidents-heading">
      <h2 id="incidents-heading" tabIndex={-1}>
        Incidents
      </h2>
      {failure !== undefined && <Failure message={failure} onRetry={() => void reload()} />}
      {value !== undefined && incidents.length === 0 && <p class="muted">No incidents recorded.</p>}
      {incidents.length > 0 && <IncidentList incidents={incidents} nameOf={nameOf} />}
    </section>
  )
}
