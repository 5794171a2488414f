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

/** The times of a view as the API takes them: without an end it takes that of its own clock. */
export const timesOf = ({ range, end }: UsageView): Readonly<Record<string, string>> => ({
  span: String(rangeMs(range)),
  ...(end !== undefined && { until: String(windowOf(range, end).untilMs) }),
})

/** The same with the length of its periods, at which it begins and ends. */
export const stepsOf = (view: UsageView): Readonly<Record<string, string>> => ({
  ...timesOf(view),
  step: String(bucketMs(view.range)),
})

/** The view in the URL, and a function that changes it. */
export const useUsageView = (): readonly [UsageView, (view: UsageView) => void] => {
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
  return [{ range, end }, setView]
}

/** What is counted: `read` asks for it, and another name is that of something else. */
export type UsageSource<U extends RangeUsage> = {
  readonly name: string
  readonly read: (query: Readonly<Record<string, string>>) => Promise<U>
}

/** The view in the URL, a function that changes it, and the usage in it, with one request. */
export const useUsageRange = <U extends RangeUsage>({
  name,
  read,
}: UsageSource<U>): {
  readonly view: UsageView
  readonly setView: (view: UsageView) => void
  readonly usage: Loaded<U>
} => {
  const [view, setView] = useUsageView()
  const load = (): Promise<U> => read(stepsOf(view))
  const key = JSON.stringify([name, view])
  return { view, setView, usage: useLoaded(key, load, REFRESH_MS) }
}

/** One network at one location of an access, or with empty texts all of it. */
export const useAccessSource = (
  accessId: string,
  network = '',
  location = '',
): UsageSource<RangeUsage> => {
  const { api } = useServices()
  return {
    name: JSON.stringify([accessId, network, location]),
    read: times => api.usageRange(accessId, { ...times, network, location }),
  }
}
