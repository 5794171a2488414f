import { LocationStateLine } from './location-state.js'
import { useServices } from '../hooks/context.js'
import { useLatencies } from '../hooks/use-latencies.js'
import { useLoaded } from '../hooks/use-loaded.js'
import type { Route } from '../lib/route.js'
import type { Access } from '../lib/wire.js'

/** How often the states of the locations are loaded again. */
const REFRESH_MS = 5_000

type Named = { readonly id: string; readonly name: string }

const Pills = ({
  legend,
  name,
  options,
  chosen,
  onChoose,
}: {
  readonly legend: string
  readonly name: string
  readonly options: readonly Named[]
  readonly chosen: string | undefined
  readonly onChoose: (id: string) => void
}) => (
  <fieldset class="pills">
    <legend>{legend}</legend>
    <div class="pills-row">
      {options.map(option => (
        <label key={option.id} class="pill">
          <input
            type="radio"
            name={name}
            checked={option.id === chosen}
            onChange={() => onChoose(option.id)}
          />
          <span>{option.name}</span>
        </label>
      ))}
    </div>
  </fieldset>
)

/** Chooses network and location of an access. A dot marks each location with an active token. */
export const LocationPicker = ({
  access,
  route,
  onChoose,
}: {
  readonly access: Access
  readonly route: Route
  readonly onChoose: (change: Pick<Route, 'network' | 'location'>) => void
}) => {
  const { api } = useServices()
  const { value } = useLoaded(access.accessId, () => api.locations(access.accessId), REFRESH_MS)
  const states = value?.locations ?? []
  const latencies = useLatencies(states.flatMap(({ url }) => (url === null ? [] : [url])))
  const hasToken = (location: string): boolean =>
    access.tokens.some(token => token.network === route.network && token.location === location)
  return (
    <div class="card picker">
      <Pills
        legend="Product"
        name="product"
        options={[access.product]}
        chosen={access.product.id}
        onChoose={() => {}}
      />
      <Pills
        legend="Network"
        name="network"
        options={access.networks}
        chosen={route.network}
        onChoose={network => onChoose({ network, location: route.location })}
      />
      <fieldset class="chooser">
        <legend>Location</legend>
        {access.locations.map(({ id, name }) => (
          <label key={id} class="option is-location">
            <input
              type="radio"
              name="location"
              checked={id === route.location}
              onChange={() => onChoose({ network: route.network, location: id })}
            />
            <span class="option-body">
              <span class={hasToken(id) ? 'dot is-on' : 'dot'} aria-hidden="true" />
              <span class="option-title">{name}</span>
              <span class="option-detail">{hasToken(id) ? 'Active token' : 'No token'}</span>
              <LocationStateLine
                location={states.find(state => state.id === id)}
                network={route.network}
                latency={latencies.get(states.find(state => state.id === id)?.url ?? '')}
              />
            </span>
          </label>
        ))}
      </fieldset>
    </div>
  )
}
