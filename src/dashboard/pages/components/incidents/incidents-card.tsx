import { useServices } from '../../hooks/context.js'
import { useLoaded, type Loaded } from '../../hooks/use-loaded.js'
import { reasonsOf, timesOf } from '../../lib/incidents.js'
import type { Incident } from '../../lib/wire.js'
import { Failure } from '../shared/failure.js'
import { IncidentList } from './incident-list.js'

/** How often incidents are loaded again. */
const REFRESH_MS = 10_000

type OwnIncidents = {
  readonly loaded: Loaded<unknown>
  /** Those of the location. */
  readonly own: readonly Incident[]
}

/** The newest incidents of a location of an access. */
export const useIncidents = (accessId: string, location: string): OwnIncidents => {
  const { api } = useServices()
  const loaded = useLoaded(accessId, () => api.incidents(accessId), REFRESH_MS)
  return { loaded, own: loaded.value?.incidents.filter(one => one.location === location) ?? [] }
}

/** Says that a location does not serve now. */
export const LastingIncident = ({
  locationName,
  own,
}: Pick<OwnIncidents, 'own'> & { readonly locationName: string }) => {
  const lasting = own.find(({ endedAtMs }) => endedAtMs === null)
  if (lasting === undefined) return null
  return (
    <div class="notice is-warning" role="status">
      <p>
        {locationName} is degraded: {reasonsOf(lasting)}, {timesOf(lasting, Date.now())}.
      </p>
    </div>
  )
}

export const IncidentsCard = ({
  locationName,
  loaded: { value, failure, reload },
  own,
}: OwnIncidents & { readonly locationName: string }) => (
  <section class="card" aria-labelledby="incidents-heading">
    <h2 id="incidents-heading">Incidents of {locationName}</h2>
    {failure !== undefined && <Failure message={failure} onRetry={() => void reload()} />}
    {value !== undefined && own.length === 0 && <p class="muted">No incidents recorded.</p>}
    {own.length > 0 && <IncidentList incidents={own} nameOf={() => ''} />}
  </section>
)
