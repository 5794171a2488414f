import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { Failure } from '../shared/failure.js'
import { MissingNote } from '../shared/missing-note.js'
import { ErrorsCard } from './errors-card.js'
import { LatencyCard } from './latency-card.js'
import { MethodsCard } from './methods-card.js'
import { RangeCard } from './range-card.js'
import { RequestsCard } from './requests-card.js'
import { useUsageRange, type UsageSource } from '../../hooks/use-usage-range.js'
import { serviceNow } from '../../lib/clock.js'
import { toBuckets, toLatencies, windowOf } from '../../lib/usage/usage-series.js'
import type { RangeUsage } from '../../lib/wire.js'

/** What is counted in the time of the page: of a location, of an access, or of the service. */
export const RangeCards = <U extends RangeUsage>({
  source,
  onCode,
  onLoaded,
  children,
}: {
  readonly source: UsageSource<U>
  /** Shows the failed requests with a code, where they are listed. */
  readonly onCode?: (code: string) => void
  /** Called when the usage is shown for the first time. */
  readonly onLoaded?: () => void
  /** Further cards of the same time. */
  readonly children?: (usage: U | undefined) => ComponentChildren
}) => {
  const { view, setView, usage } = useUsageRange(source)
  const { range } = view
  const { value, failure, reload } = usage
  useEffect(() => {
    if (value !== undefined) onLoaded?.()
  }, [value !== undefined])
  const buckets = toBuckets(
    value?.periods ?? [],
    range,
    value?.fromMs ?? windowOf(view, serviceNow()).fromMs,
  )
  return (
    <>
      <RangeCard view={view} onChange={setView} />
      {failure !== undefined && <Failure message={failure} onRetry={() => void reload()} />}
      <MissingNote missing={value?.missing} />
      <RequestsCard buckets={buckets} range={range} usage={value} />
      <LatencyCard
        buckets={toLatencies(value?.calls ?? [], buckets)}
        range={range}
        isQuiet={value?.calls.every(({ p50Ms }) => p50Ms === null) ?? false}
      />
      <ErrorsCard usage={value} {...(onCode && { onCode })} />
      {children?.(value)}
      <MethodsCard methods={value?.methods} />
    </>
  )
}
