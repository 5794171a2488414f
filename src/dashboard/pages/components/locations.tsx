import { useEffect, useRef, useState } from 'preact/hooks'
import { AccessView } from './access/access-view.js'
import { AccessList } from './access-list.js'
import { Choices, nameOfScope } from './choices.js'
import { useServices } from '../hooks/context.js'
import { Failure } from './shared/failure.js'
import { NoAccess, Skeleton } from './dashboard-states.js'
import { LocationPicker } from './location-picker.js'
import { LocationView } from './location-view.js'
import { isAccessFound, titleOf } from '../lib/overview.js'
import { Overview } from './overview/overview.js'
import { PageHead } from './page-head.js'
import { resolveRoute } from '../lib/resolve-route.js'
import type { Events } from '../hooks/use-events.js'
import { useRoute, type Route } from '../lib/route.js'
import { TAB_NAMES } from './tabs.js'
import { useLoaded } from '../hooks/use-loaded.js'
import type { Access } from '../lib/wire.js'

/**
 * How often the accesses are loaded again where the service does not report changes: an access that
 * ends while the page is open is to say so within 5 s. Otherwise once a minute, which also keeps
 * the session of a page that is used.
 */
const REFRESH_MS = 4_000

/** How often traffic and states of all scopes are loaded again, with one request. */
const OVERVIEW_MS = 10_000

/** Usable accesses are listed first. */
const STATE_ORDER: readonly Access['state'][] = ['active', 'upcoming', 'ended']

/** Names what the tab of the browser shows. */
const titleOfPage = (
  { tab, accessTab }: Route,
  access: Access | undefined,
  locationName: string | undefined,
): string => {
  if (access === undefined) return 'Overview · Slotline'
  return `${TAB_NAMES[accessTab ?? tab]} · ${locationName ?? titleOf(access)} · Slotline`
}

/** The accesses, and what the fragment of the URL chooses of them. */
const useChoice = ({ changeCount }: Events) => {
  const { api } = useServices()
  const loaded = useLoaded('accesses', api.accesses, REFRESH_MS)
  useEffect(() => {
    if (changeCount > 0) void loaded.reload()
  }, [changeCount])
  const [requested, go] = useRoute()
  const accesses = (loaded.value?.accesses ?? []).toSorted(
    (one, other) => STATE_ORDER.indexOf(one.state) - STATE_ORDER.indexOf(other.state),
  )
  const route = resolveRoute(requested, accesses)
  const access = accesses.find(({ accessId }) => accessId === route.accessId)
  const location = access?.locations.find(({ id }) => id === route.location)
  const network = access?.networks.find(({ id }) => id === route.network)
  const chooseAccess = (accessId: string): void => {
    const { accessTab = 'usage' } = route
    if (location === undefined) go({ ...route, accessId, accessTab })
    else go(resolveRoute({ ...route, accessId }, accesses))
  }
  /** The access that is shown, itself or one of its locations; undefined: the overview. */
  const shown = location === undefined && route.accessTab === undefined ? undefined : access
  const title = titleOfPage(route, shown, location?.name)
  useEffect(() => void (document.title = title), [title])
  return { ...loaded, go, accesses, route, access, network, location, shown, chooseAccess }
}

/** The overview, the page of an access, or that of a location, beside the choice of one. */
export const Locations = ({
  events,
  isEmailVerified,
}: {
  readonly events: Events
  readonly isEmailVerified: boolean
}) => {
  const { api } = useServices()
  const choice = useChoice(events)
  const { value, failure, reload, go, accesses, route, access, network, location, shown } = choice
  const [query, setQuery] = useState('')
  const overview = useLoaded('overview', api.overview, OVERVIEW_MS)
  const found = accesses.filter(one => isAccessFound(query, one, overview.value?.scopes ?? []))
  const heading = useRef<HTMLHeadingElement>(null)

  return (
    <>
      {failure !== undefined && <Failure message={failure} onRetry={() => void reload()} />}
      {value === undefined && failure === undefined && <Skeleton />}
      {value !== undefined && accesses.length === 0 && (
        <NoAccess isEmailVerified={isEmailVerified} />
      )}
      {accesses.length > 0 && (
        <div class="columns">
          <PageHead access={shown} network={network} location={location} heading={heading} />
          <Choices of={shown && `${titleOf(shown)} · ${nameOfScope(network, location)}`}>
            <AccessList
              accesses={found}
              query={query}
              onQuery={setQuery}
              chosen={route.accessId}
              onChoose={choice.chooseAccess}
            />
            {access !== undefined && (
              <LocationPicker
                access={access}
                route={route}
                onChoose={change => go({ ...route, ...change, accessTab: undefined })}
              />
            )}
          </Choices>
          {shown !== undefined && route.accessTab !== undefined && (
            <AccessView
              key={shown.accessId}
              access={shown}
              tab={route.accessTab}
              onTab={accessTab => go({ ...route, accessTab })}
            />
          )}
          {access !== undefined && network !== undefined && location !== undefined && (
            <LocationView
              key={`${access.accessId}/${network.id}/${location.id}`}
              access={access}
              network={network}
              location={location}
              changeCount={events.changeCount}
              hasMachines={value?.hasMachines === true}
              docsUrl={value?.docsUrl}
              heading={heading}
              tab={route.tab}
              onTab={tab => go({ ...route, tab })}
              onTokensChanged={reload}
            />
          )}
          {shown === undefined && (
            <Overview accesses={accesses} loaded={overview} query={query} onLabelled={reload} />
          )}
        </div>
      )}
    </>
  )
}
