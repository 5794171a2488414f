import type { RefObject } from 'preact'
import { useEffect } from 'preact/hooks'
import { ConnectTab } from './connect/connect-tab.js'
import { LastingIncident } from './incidents/incidents-card.js'
import { MachinesTab } from './machines/machines-tab.js'
import { Failure } from './shared/failure.js'
import { onTabMessage, notifyTabs } from '../lib/other-tabs.js'
import { RoleNotice } from './shared/managed.js'
import { StateNotice } from './shared/state-notice.js'
import { Tabs } from './tabs.js'
import { Warnings } from './shared/warnings.js'
import { UsageTab } from './usage/usage-tab.js'
import { RoleProvider } from '../hooks/context.js'
import { usePanel } from '../hooks/use-panel.js'
import { TABS, type Tab } from '../lib/route.js'
import type { Access } from '../lib/wire.js'

type Named = { readonly id: string; readonly name: string }

const DocsLink = ({ url }: { readonly url: string }) => (
  <p class="muted docs-link">
    Every method, route, limit and error is described in the{' '}
    <a href={url} target="_blank" rel="noreferrer">
      documentation
    </a>
    .
  </p>
)

/** The panel of a location: its token, its usage and its machines. */
export const LocationView = (options: {
  readonly access: Access
  readonly network: Named
  readonly location: Named
  /** How many changes the service has reported. */
  readonly changeCount: number
  /** The service is a cluster. */
  readonly hasMachines: boolean
  readonly docsUrl: string | undefined
  /** Of the page; it gets the focus after changes. */
  readonly heading: RefObject<HTMLHeadingElement | null>
  readonly tab: Tab
  readonly onTab: (tab: Tab) => void
  /** Called when the dots beside the locations may be outdated. */
  readonly onTokensChanged: () => Promise<void>
}) => {
  const { access, network, location, changeCount, hasMachines, docsUrl, heading } = options
  const { onTab, onTokensChanged } = options
  const tabs = TABS.filter(tab => hasMachines || tab !== 'machines')
  const tab = tabs.includes(options.tab) ? options.tab : 'connect'
  const scope = { accessId: access.accessId, network: network.id, location: location.id }
  const key = `${scope.accessId}/${scope.network}/${scope.location}`
  const {
    value: panel,
    failure,
    reload,
    onOwnChange,
  } = usePanel(scope, {
    locationName: location.name,
    changeCount,
    isListed: access.tokens.some(at => at.network === network.id && at.location === location.id),
  })

  const refresh = async (): Promise<void> => {
    await Promise.all([reload(), onTokensChanged()])
  }
  useEffect(() => onTabMessage(key, () => void refresh()), [key])

  return (
    <RoleProvider value={access.role}>
      <section class="location-view" aria-labelledby="page-heading">
        <StateNotice state={access.state} />
        <RoleNotice />
        <Warnings access={access} hasIncidents={false} />
        <LastingIncident accessId={access.accessId} location={location} />
        <Tabs label="Location" tabs={tabs} chosen={tab} onChoose={onTab} />
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
          {tab === 'usage' && <UsageTab scope={scope} />}
          {tab === 'machines' && <MachinesTab access={access} network={network} />}
        </div>
      </section>
    </RoleProvider>
  )
}
