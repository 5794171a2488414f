import { useEffect, useState } from 'preact/hooks'
import { AccessList } from './access-list.js'
import { useServices } from '../hooks/context.js'
import { Failure } from './failure.js'
import { Header } from './header.js'
import { Icon } from './icon.js'
import { PlacePicker } from './location-picker.js'
import { PlaceView } from './location-view.js'
import { useRoute, type Route } from '../lib/route.js'
import { useLoaded } from '../hooks/use-loaded.js'
import type { Access, Session } from '../lib/wire.js'

/** How often the accesses are asked for again: they are granted, extended and ended elsewhere. */
const REFRESH_MS = 60_000

/** What can be used comes first. */
const STATE_ORDER: readonly Access['state'][] = ['active', 'upcoming', 'ended']

/** Fills in what needs no choice, and drops what is not on offer. */
const awaitAcknowledged = (route: Route, accesses: readonly Access[]): Route => {
  const only = accesses.length === 1 ? accesses[0] : undefined
  const access = accesses.find(({ accessId }) => accessId === route.accessId) ?? only
  if (access === undefined) return { tab: route.tab }
  const pick = (wanted: string | undefined, offered: readonly { id: string }[]) =>
    offered.find(({ id }) => id === wanted)?.id ??
    (offered.length === 1 ? offered[0]?.id : undefined)
  const { networks, locations, accessId } = access
  const network = pick(route.network, networks) ?? networks[0]?.id
  return { accessId, network, location: pick(route.location, locations), tab: route.tab }
}

const Empty = () => (
  <section class="card empty">
    <h1>No access yet</h1>
    <p class="muted">
      Tokens belong to a pass that you own or to an active rental. This account has neither. If you
      expected one, check that you signed in with the account it was granted to, or ask whoever runs
      this service.
    </p>
  </section>
)

const Skeleton = () => (
  <div class="columns" role="status" aria-busy="true" aria-label="Loading">
    <div class="skeleton is-tall" />
    <div class="skeleton is-taller" />
  </div>
)

/** Everything behind the sign-in: choose on one side, use on the other. */
export const Dashboard = ({
  session,
  onSignOut,
}: {
  readonly session: Session
  readonly onSignOut: () => Promise<void>
}) => {
  const { api } = useServices()
  const { value, failure, reload } = useLoaded('accesses', api.accesses, REFRESH_MS)
  const [asked, go] = useRoute()
  const accesses = (value?.accesses ?? []).toSorted(
    (one, other) => STATE_ORDER.indexOf(one.state) - STATE_ORDER.indexOf(other.state),
  )
  const route = awaitAcknowledged(asked, accesses)
  const access = accesses.find(({ accessId }) => accessId === route.accessId)
  const location = access?.locations.find(({ id }) => id === route.location)
  const network = access?.networks.find(({ id }) => id === route.network)

  // In a narrow window the choice folds away once it is made, so that what was chosen comes first.
  const [isChoosing, setChoosing] = useState(false)
  const isFolded = location !== undefined && !isChoosing
  const foldAfterTap = (event: MouseEvent): void => {
    // Arrow keys click, too, with no count: who moves through the list by keyboard keeps it open.
    const isTap = event.detail > 0 && event.target instanceof HTMLInputElement
    if (isTap && event.target.name === 'location') setChoosing(false)
  }

  const title = location === undefined ? 'Slotline' : `${location.name} · Slotline`
  useEffect(() => void (document.title = title), [title])

  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={event => {
          // The fragment is the route: the link must move the focus and leave the address alone.
          event.preventDefault()
          document.getElementById('main')?.focus()
        }}
      >
        Skip to the content
      </a>
      <Header session={session} onSignOut={onSignOut} />
      <main id="main" tabIndex={-1}>
        {failure !== undefined && <Failure message={failure} onRetry={() => void reload()} />}
        {value === undefined && failure === undefined && <Skeleton />}
        {value !== undefined && accesses.length === 0 && <Empty />}
        {accesses.length > 0 && (
          <div class="columns">
            {access !== undefined && location !== undefined && (
              <button
                type="button"
                class="fold"
                aria-expanded={!isFolded}
                aria-controls="choices"
                onClick={() => setChoosing(isFolded)}
              >
                <span>
                  {access.product.name} · {network?.name} · {location.name}
                </span>
                {isFolded ? 'Change' : 'Done'}
                <Icon name={isFolded ? 'down' : 'up'} />
              </button>
            )}
            <div id="choices" class={isFolded ? 'side is-folded' : 'side'} onClick={foldAfterTap}>
              <AccessList
                accesses={accesses}
                chosen={route.accessId}
                onChoose={accessId => go(awaitAcknowledged({ ...route, accessId }, accesses))}
              />
              {access !== undefined && (
                <PlacePicker
                  access={access}
                  route={route}
                  onChoose={change => go({ ...route, ...change })}
                />
              )}
            </div>
            {access !== undefined && network !== undefined && location !== undefined ? (
              <PlaceView
                key={`${access.accessId}/${network.id}/${location.id}`}
                access={access}
                network={network}
                location={location}
                tab={route.tab}
                onTab={tab => go({ ...route, tab })}
                onTokensChanged={reload}
              />
            ) : (
              <section class="card empty">
                <h2>{access === undefined ? 'Choose an access' : 'Choose a location'}</h2>
                <p class="muted">
                  {access === undefined
                    ? 'Products and locations depend on the pass or rental that you use.'
                    : 'Each location has a token of its own. A filled dot marks those that have one.'}
                </p>
              </section>
            )}
          </div>
        )}
      </main>
    </>
  )
}
