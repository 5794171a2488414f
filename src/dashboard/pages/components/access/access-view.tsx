import { AccessSettings } from './access-settings.js'
import { AccessUsage } from './access-usage.js'
import { RoleProvider } from '../../hooks/context.js'
import { RoleNotice } from '../shared/managed.js'
import { StateNotice } from '../shared/state-notice.js'
import { SubmissionsTab } from '../submissions/submissions-tab.js'
import { Tabs } from '../tabs.js'
import { Warnings } from '../shared/warnings.js'
import { ACCESS_TABS, type AccessTab } from '../../lib/route.js'
import type { Access } from '../../lib/wire.js'

/** The page of an access: what belongs to all of its locations together. */
export const AccessView = ({
  access,
  tab,
  onTab,
}: {
  readonly access: Access
  readonly tab: AccessTab
  readonly onTab: (tab: AccessTab) => void
}) => (
  <RoleProvider value={access.role}>
    <section class="location-view" aria-labelledby="page-heading">
      <StateNotice state={access.state} />
      <RoleNotice />
      <Warnings access={access} />
      <Tabs label="Access" tabs={ACCESS_TABS} chosen={tab} onChoose={onTab} />
      <div role="tabpanel" id="tab-panel" aria-labelledby={`tab-${tab}`} tabIndex={-1}>
        {tab === 'usage' && <AccessUsage access={access} />}
        {tab === 'submissions' && <SubmissionsTab access={access} />}
        {tab === 'settings' && <AccessSettings access={access} />}
      </div>
    </section>
  </RoleProvider>
)
