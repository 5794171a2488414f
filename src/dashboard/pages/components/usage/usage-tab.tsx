import type { TokenScope } from '../../lib/api.js'
import { useServices } from '../../hooks/context.js'
import { Failure } from '../shared/failure.js'
import { WebhookCard } from '../webhook/webhook-card.js'
import { FailuresCard } from '../failures/failures-card.js'
import { LimitsCard } from './limits-card.js'
import { MethodsCard } from './methods-card.js'
import { RefusedTable } from './refused-table.js'
import { RequestsCard } from './requests-card.js'
import { useLoaded } from '../../hooks/use-loaded.js'
import type { Access } from '../../lib/wire.js'

/** How often the refused attempts are loaded again. */
const REFRESH_MS = 10_000

/** Usage of a place in the last 30 days, limits of the access, and refused attempts. */
export const UsageTab = ({
  access,
  scope,
}: {
  readonly access: Access
  readonly scope: TokenScope
}) => {
  const { api } = useServices()
  const { value, failure, reload } = useLoaded('usage', () => api.tokenUsage(scope), REFRESH_MS)
  return (
    <div class="stack">
      <RequestsCard scope={scope} />
      <MethodsCard scope={scope} />
      <FailuresCard access={access} />
      <LimitsCard access={access} />
      <WebhookCard key={access.accessId} accessId={access.accessId} />
      {failure !== undefined && <Failure message={failure} onRetry={() => void reload()} />}
      <RefusedTable refused={value?.refused} replaced={value?.replaced} />
    </div>
  )
}
