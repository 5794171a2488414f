import type { TokenScope } from '../../lib/api.js'
import { useServices } from '../../hooks/context.js'
import { Failure } from '../shared/failure.js'
import { MissingNote } from '../shared/missing-note.js'
import { WebhookCard } from '../webhook/webhook-card.js'
import { FailuresCard } from '../failures/failures-card.js'
import { ErrorsCard } from './errors-card.js'
import { LatencyCard } from './latency-card.js'
import { LimitsCard } from './limits-card.js'
import { MethodsCard } from './methods-card.js'
import { RangeCard } from './range-card.js'
import { RefusedTable } from './refused-table.js'
import { RequestsCard } from './requests-card.js'
import { useLoaded } from '../../hooks/use-loaded.js'
import { useUsageRange } from '../../hooks/use-usage-range.js'
import { useQuery } from '../../lib/route.js'
import { toBuckets, toLatencies } from '../../lib/usage/usage-series.js'
import type { Access } from '../../lib/wire.js'

/** How often the refused attempts are loaded again. */
const REFRESH_MS = 10_000

/** What is counted in the time of the page, of the place or of the whole access. */
const RangeCards = ({
  access,
  scope,
  placeName,
}: {
  readonly access: Access
  readonly scope: TokenScope
  readonly placeName: string
}) => {
  const { view, setView, usage } = useUsageRange(scope)
  const [query, setQuery] = useQuery()
  const { range, end } = view
  const { value, failure, reload } = usage
  const buckets = toBuckets(value?.periods ?? [], range, end ?? Date.now())
  const showFailures = (code: string): void => {
    setQuery({ ...query, code })
    document.getElementById('failures-heading')?.scrollIntoView()
  }
  return (
    <>
      <RangeCard view={view} placeName={placeName} onChange={setView} />
      {failure !== undefined && <Failure message={failure} onRetry={() => void reload()} />}
      <MissingNote missing={value?.missing} />
      <RequestsCard buckets={buckets} range={range} usage={value} />
      <LatencyCard buckets={toLatencies(value?.calls ?? [], buckets)} range={range} />
      <ErrorsCard limits={access.limits} usage={value} onCode={showFailures} />
      <MethodsCard methods={value?.methods} />
    </>
  )
}

/** Usage of a place in the last 30 days, limits of the access, and refused attempts. */
export const UsageTab = ({
  access,
  scope,
  placeName,
}: {
  readonly access: Access
  readonly scope: TokenScope
  /** Of the network and the location. */
  readonly placeName: string
}) => {
  const { api } = useServices()
  const { value, failure, reload } = useLoaded('usage', () => api.tokenUsage(scope), REFRESH_MS)
  return (
    <div class="stack">
      <RangeCards access={access} scope={scope} placeName={placeName} />
      <FailuresCard access={access} />
      <LimitsCard access={access} />
      <WebhookCard key={access.accessId} accessId={access.accessId} />
      {failure !== undefined && <Failure message={failure} onRetry={() => void reload()} />}
      <RefusedTable refused={value?.refused} replaced={value?.replaced} />
    </div>
  )
}
