import type { TokenScope } from '../../lib/api.js'
import { useServices } from '../../hooks/context.js'
import { Failure } from '../shared/failure.js'
import { RangeCards } from './range-cards.js'
import { RefusedTable } from './refused-table.js'
import { useLoaded } from '../../hooks/use-loaded.js'
import { pickTimes, useAccessSource } from '../../hooks/use-usage-range.js'
import { useTarget } from '../../hooks/use-target.js'
import { useQuery } from '../../lib/route.js'

/** How often the refused attempts are loaded again. */
const REFRESH_MS = 10_000

/** Usage of a network at a location in the last 30 days, and refused attempts. */
export const UsageTab = ({ scope }: { readonly scope: TokenScope }) => {
  const { accessHref, api } = useServices()
  const { value, failure, reload } = useLoaded('usage', () => api.tokenUsage(scope), REFRESH_MS)
  useTarget(value !== undefined)
  const source = useAccessSource(scope.accessId, scope.network, scope.location)
  const [asked] = useQuery()
  const showFailures = (code: string): void => {
    const query = { code, location: scope.location, ...pickTimes(asked), at: 'failures' }
    location.hash = accessHref(scope.accessId, 'usage', query)
  }
  return (
    <div class="stack is-columns">
      <RangeCards source={source} onCode={showFailures} />
      {failure !== undefined && <Failure message={failure} onRetry={() => void reload()} />}
      <RefusedTable refused={value?.refused} replaced={value?.replaced} />
    </div>
  )
}
