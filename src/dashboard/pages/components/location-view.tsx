import { useEffect, useRef } from 'preact/hooks'
import { useServices } from '../hooks/context.js'
import { ConnectTab } from './connect/connect-tab.js'
import { IncidentsCard, LastingIncident, useIncidents } from './incidents/incidents-card.js'
import { MachinesTab } from './machines/machines-tab.js'
import { Failure } from './shared/failure.js'
import { onTabMessage, notifyTabs } from '../lib/other-tabs.js'
import { SubmissionsTab } from './submissions/submissions-tab.js'
import { Tabs } from './tabs.js'
import { Warnings } from './shared/warnings.js'
import { UsageTab } from './usage/usage-tab.js'
import { useLoaded } from '../hooks/use-loaded.js'
import { TABS, type Tab } from '../lib/route.js'
import type { Access, Panel } from '../lib/wire.js'

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

const DocsLink = ({ url }: { readonly url: string }) => (
  <p class="muted docs-link">
    Every method, route, limit and error is described in the{' '}
    <a href={url} target="_blank" rel="noreferrer">
      documentation
    </a>
    .
  </p>
)

/** Tone and text of the state of a token. */
const badgeOf = (
  access: Access,
  panel: Panel | undefined,
  { network, location }: { readonly network: string; readonly location: string },
): readonly [string, string] => {
  if (access.state !== 'active') return STATUS[access.state]
  // The list of accesses has it before the panel is loaded.
  const hasToken =
    panel === undefined
      ? access.tokens.some(at => at.network === network && at.location === location)
      : panel.token !== null
  return hasToken ? ['is-active', 'Active token'] : ['is-none', 'No token']
}

/** The panel of a location: its token, usage and submissions. */
export const LocationView = (options: {
  readonly access: Access
  readonly network: Named
  readonly location: Named
  /** The service is a cluster. */
  readonly hasMachines: boolean
  readonly docsUrl: string | undefined
  readonly tab: Tab
  readonly onTab: (tab: Tab) => void
  /** Called when the dots beside the locations may be outdated. */
  readonly onTokensChanged: () => Promise<void>
}) => {
  const { access, network, location, hasMachines, docsUrl, onTab, onTokensChanged } = options
  const tabs = TABS.filter(tab => hasMachines || tab !== 'machines')
  const tab = tabs.includes(options.tab) ? options.tab : 'connect'
  const { api } = useServices()
  const scope = { accessId: access.accessId, network: network.id, location: location.id }
  const key = `${scope.accessId}/${scope.network}/${scope.location}`
  const { value: panel, failure, reload } = useLoaded(key, () => api.panel(scope))
  const incidents = useIncidents(access.accessId, location.id)
  const heading = useRef<HTMLHeadingElement>(null)

  const refresh = async (): Promise<void> => {
    await Promise.all([reload(), onTokensChanged()])
  }
  useEffect(() => onTabMessage(key, () => void refresh()), [key])

  const badge = badgeOf(access, panel, scope)

  return (
    <section class="location-view" aria-labelledby="location-heading">
      <div class="location-head">
        <div>
          <p class="eyebrow">
            {access.product.name} · {network.name}
          </p>
          <h1 id="location-heading" ref={heading} tabIndex={-1}>
            {location.name}
          </h1>
        </div>
        <span class={`badge is-large ${badge[0]}`}>{badge[1]}</span>
      </div>
      {access.state !== 'active' && (
        <div class="notice is-warning" role="alert">
          <p>{EXPLAINED[access.state]}</p>
        </div>
      )}
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
              await refresh()
              notifyTabs(key)
            }}
          />
        )}
        {tab === 'connect' && docsUrl !== undefined && <DocsLink url={docsUrl} />}
        {tab === 'usage' && (
          <div class="stack">
            <UsageTab access={access} scope={scope} />
            <IncidentsCard locationName={location.name} {...incidents} />
          </div>
        )}
        {tab === 'submissions' && <SubmissionsTab access={access} />}
        {tab === 'machines' && <MachinesTab access={access} network={network} />}
      </div>
    </section>
  )
}
