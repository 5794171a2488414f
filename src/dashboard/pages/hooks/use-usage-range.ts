import { useQuery } from '../lib/route.js'
import { bucketMs, isRange, rangeMs, windowOf, type Range } from '../lib/usage/usage-series.js'
import type { RangeUsage } from '../lib/wire.js'
import { useServices } from './context.js'
import { useLoaded, type Loaded } from './use-loaded.js'

/** How often the usage is loaded again. */
const REFRESH_MS = 10_000

/** What the page is about; `end` is undefined for now. */
export type UsageView = {
  readonly range: Range
  readonly end: number | undefined
}

/** What usage is of: one network at one location of an access, or with empty texts all of it. */
export type UsageScope = {
  readonly accessId: string
  readonly network: string
  readonly location: string
}

/** The view in the URL, a function that changes it, and the usage in it, with one request. */
export const useUsageRange = (
  scope: UsageScope,
): {
  readonly view: UsageView
  readonly setView: (view: UsageView) => void
  readonly usage: Loaded<RangeUsage>
} => {
  const { api } = useServices()
  const [query, setQuery] = useQuery()
  const { range: asked = '', end: until = '' } = query
  const range = isRange(asked) ? asked : 'hour'
  const end = /^\d{1,15}$/.test(until) ? Number(until) : undefined
  const setView = (view: UsageView): void => {
    const { range: _range, end: _end, ...others } = query
    setQuery({
      ...others,
      ...(view.range !== 'hour' && { range: view.range }),
      ...(view.end !== undefined && { end: String(view.end) }),
    })
  }
  const { accessId, location, network } = scope
  const load = (): Promise<RangeUsage> => {
    // Without an end the service takes that of its own clock.
    const until = end === undefined ? {} : { until: String(windowOf(range, end).untilMs) }
    const times = { span: String(rangeMs(range)), step: String(bucketMs(range)), ...until }
    return api.usageRange(accessId, { ...times, network, location })
  }
  const key = JSON.stringify([scope, range, end])
  return { view: { range, end }, setView, usage: useLoaded(key, load, REFRESH_MS) }
}
