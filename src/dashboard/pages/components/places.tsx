import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { AccessList } from './access-list.js'
import { useServices } from '../hooks/context.js'
import { Failure } from './shared/failure.js'
import { NoAccess, Skeleton } from './dashboard-states.js'
import { Icon } from './shared/icon.js'
import { LocationPicker } from './location-picker.js'
import { LocationView } from './location-view.js'
import { isAccessFound, titleOf } from '../lib/overview.js'
import { Overview } from './overview/overview.js'
import { resolveRoute } from '../lib/resolve-route.js'
import type { Events } from '../hooks/use-events.js'
import { useRoute } from '../lib/route.js'
import { useLoaded } from '../hooks/use-loaded.js'
import type { Access } from '../lib/wire.js'

/**
 * How often the accesses are loaded again where the service does not report changes: an access that
 * ends while the page is open is to say so within 5 s.
 */
const REFRESH_MS = 4_000

/** How often traffic and states of all places are loaded again, with one request. */
const OVERVIEW_MS = 10_000

/** Usable accesses are listed first. */
const STATE_ORDER: readonly Access['state'][] = ['active', 'upcoming', 'ended']

/** Folds the choices in a narrow window. */
const FoldButton = (options: {
  readonly isFolded: boolean
  readonly onClick: () => void
  readonly children: ComponentChildren
}) => (
  <button
    type="button"
    class="fold"
    aria-expanded={!options.isFolded}
    aria-controls="choices"
    onClick={options.onClick}
  >
    <span>{options.children}</span>
    {options.isFolded ? 'Change' : 'Done'}
    <Icon name={options.isFolded ? 'down' : 'up'} />
  </button>
)

/** The choice of a location on one side, its panel on the other. */
export const Places = ({ events }: { readonly events: Events }) => {
  const { isLive, changeCount } = events
  const { api } = useServices()
  const refreshMs = isLive ? 0 : REFRESH_MS
  const { value, failure, reload } = useLoaded('accesses', api.accesses, refreshMs)
  useEffect(() => {
    if (changeCount > 0) void reload()
  }, [changeCount])
  const [requested, go] = useRoute()
  const [query, setQuery] = useState('')
  const overview = useLoaded('overview', api.overview, OVERVIEW_MS)
  const accesses = (value?.accesses ?? []).toSorted(
    (one, other) => STATE_ORDER.indexOf(one.state) - STATE_ORDER.indexOf(other.state),
  )
  const route = resolveRoute(requested, accesses)
  const access = accesses.find(({ accessId }) => accessId === route.accessId)
  const location = access?.locations.find(({ id }) => id === route.location)
  const network = access?.networks.find(({ id }) => id === route.network)

  const found = accesses.filter(one => isAccessFound(query, one, overview.value?.places ?? []))

  // In a narrow window the choices collapse after a location is chosen.
  const [isChoosing, setChoosing] = useState(false)
  const isFolded = location !== undefined && !isChoosing
  const foldAfterTap = (event: MouseEvent): void => {
    // Arrow keys cause clicks with no count. They keep the list open.
    const isTap = event.detail > 0 && event.target instanceof HTMLInputElement
    if (isTap && event.target.name === 'location') setChoosing(false)
  }

  const title = location === undefined ? 'Overview · Slotline' : `${location.name} · Slotline`
  useEffect(() => void (document.title = title), [title])

  return (
    <>
      {failure !== undefined && <Failure message={failure} onRetry={() => void reload()} />}
      {value === undefined && failure === undefined && <Skeleton />}
      {value !== undefined && accesses.length === 0 && <NoAccess />}
      {accesses.length > 0 && (
        <div class="columns">
          {access !== undefined && location !== undefined && (
            <FoldButton isFolded={isFolded} onClick={() => setChoosing(isFolded)}>
              {titleOf(access)} · {network?.name} · {location.name}
            </FoldButton>
          )}
          <div id="choices" class={isFolded ? 'side is-folded' : 'side'} onClick={foldAfterTap}>
            <AccessList
              accesses={found}
              query={query}
              onQuery={setQuery}
              chosen={route.accessId}
              onChoose={accessId => go(resolveRoute({ ...route, accessId }, accesses))}
            />
            {access !== undefined && (
              <LocationPicker
                access={access}
                route={route}
                onChoose={change => go({ ...route, ...change })}
              />
            )}
          </div>
          {access !== undefined && network !== undefined && location !== undefined ? (
            <LocationView
              key={`${access.accessId}/${network.id}/${location.id}`}
              access={access}
              network={network}
              location={location}
              changeCount={changeCount}
              hasMachines={value?.hasMachines === true}
              docsUrl={value?.docsUrl}
              tab={route.tab}
              onTab={tab => go({ ...route, tab })}
              onTokensChanged={reload}
            />
          ) : (
            <Overview accesses={accesses} loaded={overview} query={query} onLabelled={reload} />
          )}
        </div>
      )}
    </>
  )
}
