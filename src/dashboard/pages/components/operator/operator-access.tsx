import { useEffect, useMemo, useRef } from 'preact/hooks'
import { RoleProvider, ServicesProvider, useServices } from '../../hooks/context.js'
import { useLoaded } from '../../hooks/use-loaded.js'
import { titleOf } from '../../lib/overview.js'
import { resolveRoute } from '../../lib/resolve-route.js'
import { formatOperatorAccess, formatOperatorRoute, type Route } from '../../lib/route.js'
import type { Access, OperatorAccessView } from '../../lib/wire.js'
import { AccessUsage } from '../access/access-usage.js'
import { Choices, nameOfScope } from '../choices.js'
import { LastingIncident } from '../incidents/incidents-card.js'
import { LocationPicker } from '../location-picker.js'
import { MachinesTab } from '../machines/machines-tab.js'
import { PageHead } from '../page-head.js'
import { Failure } from '../shared/failure.js'
import { StateNotice } from '../shared/state-notice.js'
import { Warnings } from '../shared/warnings.js'
import { SubmissionsTab } from '../submissions/submissions-tab.js'
import { TAB_NAMES, Tabs } from '../tabs.js'
import { UsageTab } from '../usage/usage-tab.js'

/** How often the access is loaded again: its holder or another operator may change it. */
const REFRESH_MS = 60_000

/** Tabs of the holder's page that only show something. */
const ACCESS_TABS = ['usage', 'submissions'] as const
const LOCATION_TABS = ['usage', 'machines'] as const

type Named = { readonly id: string; readonly name: string }

const AccessTabs = ({
  access,
  tab,
  go,
}: {
  readonly access: Access
  readonly tab: (typeof ACCESS_TABS)[number]
  readonly go: (change: Partial<Route>) => void
}) => (
  <>
    <Warnings access={access} />
    <Tabs
      label="Access"
      tabs={ACCESS_TABS}
      chosen={tab}
      onChoose={accessTab => go({ accessTab })}
    />
    <div role="tabpanel" id="tab-panel" aria-labelledby={`tab-${tab}`} tabIndex={-1}>
      {tab === 'usage' && <AccessUsage access={access} />}
      {tab === 'submissions' && <SubmissionsTab access={access} />}
    </div>
  </>
)

const LocationTabs = (options: {
  readonly access: Access
  readonly network: Named
  readonly location: Named
  readonly hasMachines: boolean
  readonly tab: (typeof LOCATION_TABS)[number]
  readonly go: (change: Partial<Route>) => void
}) => {
  const { access, network, location, hasMachines, tab, go } = options
  const { accessId } = access
  const tabs = LOCATION_TABS.filter(one => hasMachines || one !== 'machines')
  return (
    <>
      <Warnings access={access} hasIncidents={false} />
      <LastingIncident accessId={accessId} location={location} />
      <Tabs label="Location" tabs={tabs} chosen={tab} onChoose={chosen => go({ tab: chosen })} />
      <div role="tabpanel" id="tab-panel" aria-labelledby={`tab-${tab}`} tabIndex={-1}>
        {tab === 'usage' && (
          <UsageTab scope={{ accessId, network: network.id, location: location.id }} />
        )}
        {tab === 'machines' && <MachinesTab access={access} network={network} />}
      </div>
    </>
  )
}

/** The tab that is shown: another one than the holder's has nothing that an operator sees. */
const tabsOf = ({ accessTab, tab }: Route, hasMachines: boolean) =>
  accessTab === undefined
    ? { tab: tab === 'machines' && hasMachines ? tab : ('usage' as const) }
    : { accessTab: accessTab === 'submissions' ? accessTab : ('usage' as const) }

const Shown = ({
  of: { access, hasMachines },
  requested,
}: {
  readonly of: OperatorAccessView
  readonly requested: Route
}) => {
  const route = resolveRoute(requested, [access])
  const network = access.networks.find(({ id }) => id === route.network)
  const location = access.locations.find(({ id }) => id === route.location)
  const { tab = 'usage', accessTab } = tabsOf(route, hasMachines)
  const go = (change: Partial<Route>): void => {
    globalThis.location.hash = formatOperatorRoute({ ...route, tab, accessTab, ...change })
  }
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [])
  const name = location?.name ?? titleOf(access)
  const title = `${TAB_NAMES[accessTab ?? tab]} · ${name} · Operator · Slotline`
  useEffect(() => void (document.title = title), [title])
  return (
    <div class="columns">
      <PageHead access={access} network={network} location={location} heading={heading} />
      <Choices of={nameOfScope(network, location)}>
        <LocationPicker
          access={access}
          route={route}
          onChoose={change => go({ ...change, accessTab: undefined })}
        />
      </Choices>
      <section class="location-view" aria-labelledby="page-heading">
        <StateNotice state={access.state} />
        {accessTab !== undefined && <AccessTabs access={access} tab={accessTab} go={go} />}
        {accessTab === undefined && network !== undefined && location !== undefined && (
          <LocationTabs
            key={`${network.id}/${location.id}`}
            access={access}
            network={network}
            location={location}
            hasMachines={hasMachines}
            tab={tab}
            go={go}
          />
        )}
      </section>
    </div>
  )
}

const Banner = ({
  of: { access, label, subject },
  back,
}: {
  readonly of: OperatorAccessView
  readonly back: string
}) => (
  <div class="notice operator-banner" role="note">
    <p>
      <strong>Read-only.</strong> Access <code>{access.accessId}</code> of <bdi>{subject}</bdi>
      {label !== '' && (
        <>
          {' '}
          (<bdi>{label}</bdi>)
        </>
      )}
      , as its holder sees it, without secrets. The audit log records that you viewed it.
    </p>
    <a href={back}>Back to Operator</a>
  </div>
)

/** An access as its holder sees it, for operators: what changes or reveals something is absent. */
export const OperatorAccess = ({
  requested,
  back,
}: {
  readonly requested: Route
  /** Where the operator came from. */
  readonly back: string
}) => {
  const services = useServices()
  const { accessId = '' } = requested
  const { value, failure, reload } = useLoaded(
    accessId,
    () => services.api.operatorAccess(accessId),
    REFRESH_MS,
  )
  const ofOperator = useMemo(() => {
    const api = { ...services.api, ...services.api.forOperator }
    return { ...services, api, accessHref: formatOperatorAccess }
  }, [services])
  return (
    <ServicesProvider value={ofOperator}>
      <RoleProvider value="operator">
        {failure !== undefined && (
          <>
            <Failure message={failure} onRetry={() => void reload()} />
            {value === undefined && <a href={back}>Back to Operator</a>}
          </>
        )}
        {value === undefined && failure === undefined && (
          <div class="skeleton" role="status" aria-busy="true" aria-label="Loading" />
        )}
        {value !== undefined && (
          <>
            <Banner of={value} back={back} />
            <Shown of={value} requested={requested} />
          </>
        )}
      </RoleProvider>
    </ServicesProvider>
  )
}
