import type { Ref } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { ConnectTab } from './connect/connect-tab.js'
import { IncidentsCard, LastingIncident, useIncidents } from './incidents/incidents-card.js'
import { MachinesTab } from './machines/machines-tab.js'
import { Failure } from './shared/failure.js'
import { onTabMessage, notifyTabs } from '../lib/other-tabs.js'
import { SubmissionsTab } from './submissions/submissions-tab.js'
import { Tabs } from './tabs.js'
import { Warnings } from './shared/warnings.js'
import { UsageTab } from './usage/usage-tab.js'
import { usePanel } from '../hooks/use-panel.js'
import { TABS, type Tab } from '../lib/route.js'
import type { Access } from '../lib/wire.js'

type Named = { readonly id: string; readonly name: string }

const STATUS = {
  ended: ['is-ended', 'Access ended'],
  upcoming: ['is-upcoming', 'Access not yet valid'],
} as const

const EXPLAINED = {
  ended:
    'This access has ended. Its tokens are kept, but requests with them are refused (HTTP 403) until the access is extended.',
  upcoming:
    'This access is not valid yet. Requests with its tokens are refused (HTTP 403) until it starts.',
} as const

/** Tone and text of the state of a token. */
const badgeOf = ({ state }: Access, hasToken: boolean): readonly [string, string] => {
  if (state !== 'active') return STATUS[state]
  return hasToken ? ['is-active', 'Active token'] : ['is-none', 'No token']
}

const StateNotice = ({ state }: { readonly state: keyof typeof EXPLAINED }) => (
  <div class="notice is-warning" role="alert">
    <p>{EXPLAINED[state]}</p>
  </div>
)

const DocsLink = ({ url }: { readonly url: string }) => (
  <p class="muted docs-link">
    Every method, route, limit and error is described in the{' '}
    <a href={url} target="_blank" rel="noreferrer">
      documentation
    </a>
    .
  </p>
)

const LocationHead = ({
  access,
  network,
  location,
  badge: [tone, state],
  heading,
}: {
  readonly access: Access
  readonly network: Named
  readonly location: Named
  readonly badge: readonly [tone: string, state: string]
  readonly heading: Ref<HTMLHeadingElement>
}) => (
  <div class="location-head">
    <div>
      <p class="eyebrow">
        {access.product.name} · {network.name}
      </p>
      <h1 id="location-heading" ref={heading} tabIndex={-1}>
        {location.name}
      </h1>
    </div>
    <span class={`badge is-large ${tone}`}>{state}</span>
  </div>
)

/** The panel of a location: its token, usage and submissions. */
export const LocationView = (options: {
  readonly access: Access
  readonly network: Named
  readonly location: Named
  /** How many changes the service has reported. */
  readonly changeCount: number
  /** The service is a cluster. */
  readonly hasMachines: boolean
  readonly docsUrl: string | undefined
  readonly tab: Tab
  readonly onTab: (tab: Tab) => void
  /** Called when the dots beside the locations may be outdated. */
  readonly onTokensChanged: () => Promise<void>
}) => {
  const { access, network, location, changeCount, hasMachines, docsUrl, onTab, onTokensChanged } =
    options
  const tabs = TABS.filter(tab => hasMachines || tab !== 'machines')
  const tab = tabs.includes(options.tab) ? options.tab : 'connect'
  const scope = { accessId: access.accessId, network: network.id, location: location.id }
  const key = `${scope.accessId}/${scope.network}/${scope.location}`
  const {
    value: panel,
    failure,
    reload,
    hasToken,
    onOwnChange,
  } = usePanel(scope, {
    locationName: location.name,
    changeCount,
    isListed: access.tokens.some(at => at.network === network.id && at.location === location.id),
  })
  const incidents = useIncidents(access.accessId, location.id)
  const heading = useRef<HTMLHeadingElement>(null)

  const refresh = async (): Promise<void> => {
    await Promise.all([reload(), onTokensChanged()])
  }
  useEffect(() => onTabMessage(key, () => void refresh()), [key])

  return (
    <section class="location-view" aria-labelledby="location-heading">
      <LocationHead {...options} badge={badgeOf(access, hasToken)} heading={heading} />
      {access.state !== 'active' && <StateNotice state={access.state} />}
      <Warnings access={access} />
      <LastingIncident locationName={location.name} own={incidents.own} />
      <Tabs tabs={tabs} chosen={tab} onChoose={onTab} />
      <div role="tabpanel" id="tab-panel" aria-labelledby={`tab-${tab}`} tabIndex={-1}>
        {tab === 'connect' && failure !== undefined && (
          <Failure message={failure} onRetry={() => void reload()} />
        )}
        {tab === 'connect' && panel === undefined && failure === undefined && (
          <div class="skeleton is-taller" role="status" aria-busy="true" aria-label="Loading" />
        )}
        {tab === 'connect' && panel !== undefined && (
          <ConnectTab
            access={access}
            scope={scope}
            locationName={location.name}
            panel={panel}
            heading={heading}
            onChanged={async () => {
              onOwnChange()
              await refresh()
              notifyTabs(key)
            }}
          />
        )}
        {tab === 'connect' && docsUrl !== undefined && <DocsLink url={docsUrl} />}
        {tab === 'usage' && (
          <div class="stack">
            <UsageTab
              access={access}
              scope={scope}
              placeName={`${location.name}, ${network.name}`}
            />
            <IncidentsCard locationName={location.name} {...incidents} />
          </div>
        )}
        {tab === 'submissions' && <SubmissionsTab access={access} />}
        {tab === 'machines' && <MachinesTab access={access} network={network} />}
      </div>
    </section>
  )
}
